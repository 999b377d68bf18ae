// Uses the tools of a server with one of the TypeScript clients, and prints what it saw as
// JSON: node run.mjs CLIENT URL TOKEN, where CLIENT is sdk, legacy or auto.
const [kind, url, token] = process.argv.slice(2);
const asked = [];
const answer = (request) => {
  asked.push(request.params);
  return { action: "accept", content: { city: "Hangzhou", days: 3 } };
};
const options = { requestInit: { headers: { Authorization: `Bearer ${token}` } } };
const about = { name: "test", version: "1" };
const capabilities = { elicitation: {} };
let client, transport;
if (kind === "sdk") {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
  client = new Client(about, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, answer);
  transport = new StreamableHTTPClientTransport(new URL(url), options);
} else {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  client = new Client(about, { capabilities, versionNegotiation: { mode: kind } });
  client.setRequestHandler("elicitation/create", answer);
  transport = new StreamableHTTPClientTransport(new URL(url), options);
}
await client.connect(transport);
const { tools } = await client.listTools();
const progress = [];
const onprogress = (p) => progress.push(p.message);
const call = (name, args) => kind === "sdk"
  ? client.callTool({ name, arguments: args }, undefined, { onprogress })
  : client.callTool({ name, arguments: args }, { onprogress });
const echo = await call("flow_echo", { question: "hello there" });
const wait = await call("flow_sub__wait", {});
const wrong = await call("flow_echo", { question: "" });
const run = await client.readResource({ uri: `run://${echo.structuredContent.run}` });
await client.close();
console.log(JSON.stringify({
  tools: tools.map((t) => t.name), echo: echo.structuredContent, wait: wait.structuredContent, asked: asked.length,
  wrong: wrong.isError, progress, run: JSON.parse(run.contents[0].text).state,
}));
