import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

/** root is the folder of the repository. */
export const root = resolve(import.meta.dirname, "../../../..");
/** program is the scheduler under test. */
export const program = resolve(root, process.env.SCHEDULER ?? "bin/scheduler");

/** Makes a project of the flows that the repository has, whose models answer from cassettes, and serves it. */
export default async function start() {
  const dir = mkdtempSync(join(tmpdir(), "scheduler-e2e-"));
  cpSync(join(root, "flows"), join(dir, "flows"), { recursive: true });
  const slow = await startSlowServer();
  const address = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
  writeFileSync(join(dir, "scheduler.yaml"), `language: en
http: {allow_hosts: [127.0.0.1]}
llm: {providers: [{name: teller, base_url: "${address}/v1", model: teller}, {name: clerk, base_url: "${address}/clerk/v1", model: clerk}]}
`);
  writeFlows(join(dir, "flows"), address);
  const plugin = spawnSync(program, ["plugins", "init", "--lang", "python", "stamp"], { cwd: dir, encoding: "utf8" });
  if (plugin.status !== 0) throw new Error(`no plugin was written: ${plugin.stderr}`);
  const { link, stop } = await serveProject(dir, "--edit");
  process.env.SCHEDULER_URL = new URL(link).origin;
  process.env.SCHEDULER_LINK = link;
  process.env.SCHEDULER_DIR = dir;
  process.env.SLOW_SERVER = address;
  process.env.SCHEDULER_TOKEN = createToken(dir, "--scopes", "admin");
  return async () => {
    await stop();
    slow.close();
    rmSync(dir, { recursive: true, force: true });
  };
}

/** Starts the program in a project, and returns the link that logs in and the function that stops it. */
export async function serveProject(dir: string, ...args: string[]): Promise<{ link: string; stop(): Promise<void> }> {
  const server = spawn(program, ["serve", "--listen", "127.0.0.1:0", ...args], { cwd: dir, stdio: ["ignore", "pipe", "inherit"] });
  const stop = async () => {
    const ended = new Promise((done) => server.once("exit", done));
    server.kill("SIGTERM");
    await ended;
  };
  return { link: await loginLink(server), stop };
}

/** Waits for the link that the server prints. */
async function loginLink(server: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: server.stdout! })) {
    const link = /https?:\/\/\S+\/login\S*/.exec(line)?.[0]; // the words around it are in the project's language
    if (link) return link;
  }
  throw new Error(`${program} serve ended before it printed a link`);
}

/** Creates a token by the command line, and returns its text. */
export function createToken(dir: string, ...args: string[]): string {
  const made = spawnSync(program, ["token", "create", "e2e", ...args], { cwd: dir, encoding: "utf8" });
  const text = /sch_\w+_[\w-]+/.exec(made.stdout)?.[0];
  if (!text) throw new Error(`no token was created: ${made.stderr}`);
  return text;
}

/**
 * Answers /ok at once, /slow after half a second, /hold never, and /flaky with 503 every other time. It is
 * a model too, that says the first half of its answer, and the rest once /tell is asked for.
 */
async function startSlowServer(): Promise<Server> {
  let asked = 0;
  let tellRest = () => {};
  const server = createServer((request, answer) => {
    if (request.url === "/v1/chat/completions") {
      const say = (delta: object, end: string | null = null) =>
        answer.write(`data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "teller", choices: [{ index: 0, delta, finish_reason: end }] })}\n\n`);
      answer.setHeader("Content-Type", "text/event-stream");
      say({ role: "assistant", content: "Once upon" });
      tellRest = () => {
        say({ content: " a time" });
        say({}, "stop");
        answer.end("data: [DONE]\n\n");
      };
      return;
    }
    if (request.url === "/clerk/v1/chat/completions") return void answerAsClerk(request, answer);
    if (request.url === "/tell") tellRest();
    const send = () => {
      answer.statusCode = request.url === "/flaky" && asked++ % 2 === 0 ? 503 : 200;
      answer.setHeader("Content-Type", "application/json");
      answer.end('{"ok": true}');
    };
    if (request.url !== "/hold") setTimeout(send, request.url === "/slow" ? 500 : 0);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return server;
}

/** Answers as a model that refunds 150 first, and then says the result of the tool. */
async function answerAsClerk(request: IncomingMessage, answer: ServerResponse) {
  let body = "";
  for await (const part of request) body += part;
  const { messages } = JSON.parse(body) as { messages: { role: string; content: string }[] };
  const result = messages.at(-1)!.role === "tool" ? messages.at(-1)!.content : undefined;
  const use = { index: 0, id: "use1", type: "function", function: { name: "refund", arguments: '{"amount": 150}' } };
  const delta = result === undefined ? { role: "assistant", tool_calls: [use] } : { role: "assistant", content: `The tool said: ${result}` };
  const chunk = { id: "1", object: "chat.completion.chunk", created: 1, model: "clerk", choices: [{ index: 0, delta, finish_reason: result === undefined ? "tool_calls" : "stop" }], usage: { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 } };
  answer.setHeader("Content-Type", "text/event-stream");
  answer.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
}

/** Writes flows that the repository's examples lack: a slow one, one that retries and fails, one of 1,000 steps. */
function writeFlows(dir: string, server: string) {
  const slow = ["name: slow", "steps:"];
  for (let i = 0; i < 8; i++) slow.push(`  - {id: s${i}, call: http, with: {method: GET, url: "${server}/slow"}${i ? `, needs: [s${i - 1}]` : ""}}`);
  writeFileSync(join(dir, "slow.yaml"), slow.join("\n") + "\n");
  writeFileSync(join(dir, "held.yaml"), slow.join("\n").replace("name: slow", "name: held").replace(/(id: s3,.*)\/slow/, "$1/hold") + "\n");
  writeFileSync(join(dir, "failing.yaml"), `name: failing
steps:
  - {id: first, call: template, with: {template: "one"}}
  - {id: never, call: template, when: "{{ 1 > 2 }}", with: {template: "two"}}
  - {id: flaky, call: http, with: {method: GET, url: "${server}/flaky"}, retry: {max_attempts: 3, initial_interval: 10ms}}
  - {id: each, call: template, for_each: [1, 2, 3], with: {template: "{{ n }}", values: {n: "{{ item }}"}}}
  - {id: some, call: template, for_each: [1, 0], on_error: continue, with: {template: "{{ 1 / n }}", values: {n: "{{ item }}"}}}
  - {id: bad, call: http, with: {method: GET, url: "http://127.0.0.1:1/"}, needs: [flaky, each, some], timeout: 5s}
`);
  writeFileSync(join(dir, "order.yaml"), `name: order
description: An order that lacks what a person must say.
inputs:
  type: object
  properties:
    question: {type: string, default: "I would like some."}
    note: {type: string, description: A remark for the kitchen.}
steps:
  - id: order
    call: slot
    with:
      stages: [function]
      current_schema:
        type: object
        required: [city, count, size]
        properties:
          city: {type: string, minLength: 1, description: The town that it goes to.}
          count: {type: integer, minimum: 1, maximum: 12, description: How many.}
          size: {type: string, enum: [small, large]}
        additionalProperties: false
    on_missing: ask
  - {id: reply, call: template, with: {template: "{{ o.count }} {{ o.size }} to {{ o.city }}", values: {o: "{{ order.slot_data }}"}}, to_user: true}
outputs: {reply: "{{ reply.text }}"}
`);
  writeFileSync(join(dir, "patterns.yaml"), `name: patterns
steps:
  - id: a
    call: slot
    with:
      stages: []
      current_schema:
        type: object
        required: [go, slow, safe]
        properties:
          go: {type: string, title: Word, pattern: "(?i)^\\\\pL{2}$"}
          slow: {type: string, title: Slow, pattern: "^(a+)+$"}
          safe: {type: string, title: Safe, pattern: "^[A-Z]-[0-9]+$", examples: [A-1042], unit: pieces}
    on_missing: ask
`);
  writeFileSync(join(dir, "misfit.yaml"), `name: misfit
steps:
  - id: order
    call: slot
    with:
      stages: [default]
      data: {count: 99}
      answers: {/size: tiny}
      current_schema:
        type: object
        required: [city, count, size]
        properties:
          city: {type: string}
          count: {type: integer, maximum: 12}
          size: {type: string, enum: [small, large]}
    on_missing: ask
`);
  writeFileSync(join(dir, "refund.yaml"), `name: refund
inputs: {type: object, properties: {amount: {type: number, default: 150}, note: {type: string, default: broken}}}
steps:
  - id: refund
    call: http
    with: {method: POST, url: "${server}/ok", idempotency_header: "", body: {order: A-1042, amount: "{{ inputs.amount }}", note: "{{ inputs.note }}"}}
    approve: {message: "Refund {{ params.body.amount }} € for order {{ params.body.order }}?", edit: [/body/amount, /body/note]}
  - {id: reply, call: template, with: {template: "refunded: {{ ok }}", values: {ok: "{{ refund.body.ok }}"}}, to_user: true}
outputs: {reply: "{{ reply.text }}"}
`);
  writeFileSync(join(dir, "clerk.yaml"), `name: clerk
llm: clerk
inputs: {type: object, properties: {question: {type: string, default: "My cup is broken."}}}
steps:
  - id: clerk
    call: agent
    with:
      prompt: "{{ inputs.question }}"
      tools:
        http: [{name: refund, with: {method: POST, url: "${server}/ok", idempotency_header: ""}, parameters: {properties: {amount: {type: number}}}, approve: true}]
    to_user: true
`);
  writeFileSync(join(dir, "tale.yaml"), `name: tale
llm: teller
inputs: {type: object, required: [question], properties: {question: {type: string}}}
steps: [{id: tell, call: chat, with: {user: "{{ inputs.question }}"}, to_user: true}]
`);
  writeFileSync(join(dir, "tale.test.yaml"), `defaults: {now: 2026-11-22T09:00:00Z, inputs: {question: "A tale, please"}}
cases:
  - {name: the question is asked, until: tell, tags: [prompt], expect: [{prompt: tell, contains: tale}]}
  - name: the tale has a dragon
    llm: [Once upon a time there was a lighthouse.]
    expect:
      - {run: finished}
      - {step: tell.text, equals: Once upon a time there was a dragon.}
  - {name: no answer is recorded, expect: [{run: finished}]}
  - {name: the tale ends well, skip: no model tells such tales, expect: [{run: finished}]}
`);
  writeFileSync(join(dir, "timed.yaml"), `name: timed
triggers: {schedules: [{id: new_year, cron: "0 0 1 1 *", timezone: Asia/Shanghai}]}
steps: [{id: greet, call: template, with: {template: "Happy new year!"}, to_user: true}]
`);
  writeFileSync(join(dir, "inner.yaml"), `name: inner
steps:
  - {id: say, call: template, with: {template: "one"}}
  - {id: repeat, call: template, with: {template: "{{ text }} again", values: {text: "{{ say.text }}"}}}
`);
  writeFileSync(join(dir, "outer.yaml"), `name: outer
steps:
  - {id: once, call: flow, with: {path: inner.yaml}}
  - {id: many, call: flow, for_each: [1, 2], needs: [once], with: {path: inner.yaml}}
`);
  // A hundred chains of ten side by side, and one of a thousand.
  for (const [name, length] of [["wide", 10], ["long", 1000]] as const) {
    const lines = [`name: ${name}`, "description: A thousand steps.", "steps:"];
    for (let i = 0; i < 1000; i++) {
      const isFirst = i % length === 0;
      lines.push(`  - id: s${i}`, "    call: template", `    needs: [${isFirst ? "" : `s${i - 1}`}]`, `    with: {template: "{{ text }}", values: {text: "${isFirst ? "x" : `{{ s${i - 1}.text }}`}"}}`);
    }
    writeFileSync(join(dir, `${name}.yaml`), lines.join("\n") + "\n");
  }
}
