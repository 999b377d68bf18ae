import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createToken, root, serveProject } from "./server.ts";

/** Desk is a server whose only flow is the support desk, with a token of one customer. */
export interface Desk {
  url: string;
  token: string;
  /** Returns how often the model was asked that refuses every request. */
  refused(): number;
  stop(): Promise<void>;
}

/** The names of the desk's fields in a Chinese shop. */
const chineseWords = {
  "order number": "订单号",
  "It stands at the top of the confirmation mail.": "在确认邮件的最上面。",
  "title: problem": "title: 问题",
  "What is wrong with the order.": "订单出了什么问题。",
};

/** Serves a copy of flows/support.yaml with orders and models played here; the model that is asked first is dead. */
export async function startDesk(language: "en" | "zh"): Promise<Desk> {
  const dir = mkdtempSync(join(tmpdir(), "scheduler-desk-"));
  let refused = 0;
  const servers = await Promise.all([
    listen(answerOrders),
    listen(answerChat),
    listen((_, answer) => {
      refused++;
      answer.writeHead(401, { "Content-Type": "application/json" }).end('{"error": {"message": "overloaded"}}');
    }),
  ]);
  const [orders, model, dead] = servers.map((one) => `http://127.0.0.1:${(one.address() as AddressInfo).port}`) as [string, string, string];
  copyDesk(join(dir, "flows"), { [shopAddress()]: orders, ...(language === "zh" ? chineseWords : {}) });
  writeFileSync(join(dir, "scheduler.yaml"), `language: ${language}
http: {allow_hosts: ["127.0.0.1:*"]}
llm:
  default: [first, second]
  providers:
    - {name: first, base_url: "${dead}", model: m}
    - {name: second, base_url: "${model}", model: m}
`);
  const { link, stop } = await serveProject(dir);
  return {
    url: new URL(link).origin,
    token: createToken(dir, "--user", "lin", "--scopes", "flows:read,runs:read,runs:write"),
    refused: () => refused,
    stop: async () => {
      await stop();
      for (const one of servers) one.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Returns the address of the shop in the desk's own document. */
function shopAddress(): string {
  const text = readFileSync(join(root, "flows", "support", "orders.json"), "utf8");
  return (JSON.parse(text) as { servers: { url: string }[] }).servers[0]!.url;
}

/** Copies the desk without its recordings, with words in place of others. */
function copyDesk(to: string, words: Record<string, string>) {
  cpSync(join(root, "flows", "support"), join(to, "support"), { recursive: true });
  for (const name of ["support.yaml", "support/orders.json"]) {
    let text = readFileSync(join(root, "flows", name), "utf8");
    for (const [old, replacement] of Object.entries(words)) text = text.replaceAll(old, replacement);
    writeFileSync(join(to, name), text);
  }
}

async function listen(listener: RequestListener): Promise<Server> {
  const server = createServer(listener);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return server;
}

/** Plays the shop, which has one order with two parcels. */
const answerOrders: RequestListener = (request, answer) => {
  const known: Record<string, object> = {
    "GET /orders/A-1042": { number: "A-1042", ordered: "2026-02-20", items: ["mug", "bowl"], paid: 48, currency: "EUR", parcels: ["P-7", "P-8"] },
    "POST /orders/A-1042/refund": { refunded: 48 },
    "GET /parcels/P-7": { state: "delivered", day: "2026-03-01" },
    "GET /parcels/P-8": { state: "under way", day: "2026-03-02" },
  };
  const found = known[`${request.method} ${request.url}`];
  answer.writeHead(found ? 200 : 404, { "Content-Type": "application/json" });
  answer.end(JSON.stringify(found ?? { message: "no such order" }));
};

type Content = string | { text?: string }[];
type ChatMessage = { role: string; content: Content };
type Said = { role: "assistant"; content?: string; tool_calls?: object[] };

/** Plays a model that picks the branch, fills the slot and answers by the words of its prompt. */
const answerChat: RequestListener = async (request, answer) => {
  let body = "";
  for await (const part of request) body += part;
  const { messages, stream } = JSON.parse(body) as { messages: ChatMessage[]; stream?: boolean };
  const said = sayAsModel(messages);
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const finish = said.tool_calls ? "tool_calls" : "stop";
  if (!stream) {
    answer.setHeader("Content-Type", "application/json");
    answer.end(JSON.stringify({ id: "c", object: "chat.completion", model: "m", usage, choices: [{ index: 0, finish_reason: finish, message: said }] }));
    return;
  }
  answer.setHeader("Content-Type", "text/event-stream");
  answer.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: said }] })}\n\n`);
  answer.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: finish }], usage })}\n\n`);
  answer.end("data: [DONE]\n\n");
};

const textOf = (content: Content): string => (typeof content === "string" ? content : content.map((part) => part.text ?? "").join(""));

/** Returns the text of <name>...</name> in a prompt, "" if there is none. */
const tagged = (prompt: string, name: string): string => new RegExp(`<${name}>([^]*?)</${name}>`).exec(prompt)?.[1] ?? "";

function sayAsModel(messages: ChatMessage[]): Said {
  const last = textOf(messages.at(-1)!.content);
  if (last.includes("<branches>")) {
    const isAboutOrder = /order|refund|订单/i.test(tagged(last, "question"));
    return { role: "assistant", content: JSON.stringify({ reason: "its words", branch: isAboutOrder ? "order" : "talk" }) };
  }
  if (last.includes("<tool_info>")) return { role: "assistant", content: fillSlot(last) };
  return { role: "assistant", ...reply(messages) };
}

/** Returns the fields that the customer's words tell, the newest words first. */
function fillSlot(prompt: string): string {
  const found: Record<string, string> = {};
  for (const words of [tagged(prompt, "message"), tagged(prompt, "question")]) {
    const number = /[A-Z]-[0-9]{4}/.exec(words)?.[0];
    if (number) found["/order_number"] ??= number;
    for (const [problem, pattern] of [["broken", /broken|坏/i], ["late", /late|迟/i]] as const) {
      if (pattern.test(words)) found["/problem"] ??= problem;
    }
  }
  return JSON.stringify(found);
}

/** Answers the customer by what the prompt says about the order, in the customer's language, and refunds when asked. */
function reply(messages: ChatMessage[]): { content?: string; tool_calls?: object[] } {
  const last = messages.at(-1)!;
  if (last.role === "tool") return { content: textOf(last.content).includes("refunded") ? "We have refunded 48 EUR." : "I could not refund it." };
  const turns = messages.filter((m) => m.role === "user");
  const newest = textOf(turns.at(-1)!.content);
  if (newest.includes("refund")) {
    const call = { name: "refund", arguments: '{"number": "A-1042", "amount": 48, "reason": "broken"}' };
    return { tool_calls: [{ index: 0, id: "call_1", type: "function", function: call }] };
  }
  const prompt = textOf(messages[0]!.content);
  const isChinese = /\p{Script=Han}/u.test(newest);
  const [, order, items] = /^Order (\S+) of \S+: (.*?)\. Paid/m.exec(prompt) ?? [];
  const problem = /^The problem, .*: (\w+)\./m.exec(prompt)?.[1];
  const missing = /^There is no order (\S+)\./m.exec(prompt)?.[1];
  if (missing) return { content: isChinese ? `没有订单 ${missing}。` : `I find no order ${missing}.` };
  if (!order) return { content: isChinese ? `您好，这是您的第 ${turns.length} 句话。` : `We are open from nine to five. You have written ${turns.length} times.` };
  if (isChinese) return { content: `已找到订单 ${order}。问题：${problem === "broken" ? "坏了" : "迟到"}。` };
  return { content: `I have found order ${order} (${items}). I am sorry that it is ${problem}.` };
}
