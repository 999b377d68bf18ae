// Holds conversations as a chat program does, and prints the replies: node talk.mjs BASE TOKEN < conversations.json.
// A conversation is {model, turns: [text, ...]}; its replies are a list in the same order.
import { readFileSync } from "node:fs";
import OpenAI from "openai";

const [baseURL, apiKey] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const conversations = JSON.parse(readFileSync(0, "utf8"));
const replies = [];

for (const { model, turns } of conversations) {
  const messages = [];
  const said = [];
  for (const text of turns) {
    messages.push({ role: "user", content: text });
    let reply;
    try {
      const completion = await client.chat.completions.create({ model, messages });
      reply = completion.choices[0].message.content;
      messages.push(completion.choices[0].message);
    } catch (error) {
      reply = `${error.status}: ${error.message}`;
    }
    said.push(reply);
  }
  replies.push(said);
}
console.log(JSON.stringify(replies));
