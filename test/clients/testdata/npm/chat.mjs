// Uses the API as programs do, and prints what came of it: node chat.mjs BASE TOKEN.
import OpenAI from "openai";

const [baseURL, apiKey] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const user = (content) => ({ role: "user", content });
const got = {};

const ids = [];
for await (const model of client.models.list()) ids.push(model.id);
got.models = ids.join(" ");

const whole = await client.chat.completions.create({ model: "say", messages: [user("hello")] });
got.chat = whole.choices[0].message.content;

const stream = client.chat.completions.stream({ model: "say", messages: [user("hello")], stream_options: { include_usage: true } });
got.stream = "";
for await (const chunk of stream) got.stream += chunk.choices[0]?.delta.content ?? "";
got.usage = typeof (await stream.totalUsage()).total_tokens;

const first = await client.chat.completions.create({ model: "place", messages: [user("Where?")] });
const second = await client.chat.completions.create({ model: "place", messages: [user("Where?"), first.choices[0].message, user("Hangzhou")] });
got.waiting = second.choices[0].message.content;

async function refused(of, request) {
  try {
    await of.chat.completions.create({ messages: [user("hello")], ...request });
    return "answered";
  } catch (error) {
    return `${error.status} ${error.constructor.name} ${error.param}`;
  }
}
got.unknown = await refused(client, { model: "nothing" });
got.tools = await refused(client, { model: "say", tools: [{ type: "function", function: { name: "clock" } }] });
got.key = await refused(new OpenAI({ baseURL, apiKey: "sch_none_none", maxRetries: 0 }), { model: "say" });

console.log(JSON.stringify(got));
