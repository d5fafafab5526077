// One use of a mounted server by each client library of JavaScript:
// `node client_libraries.mjs NODE_MODULES NAME COMMAND…` prints what the library found as JSON.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, name, program, ...args] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const load = (library) => import(pathToFileURL(require.resolve(library)));
const given = { name: "Ann" };
const env = process.env;
const timeout = 600_000; // how long a busy machine may take

// The text of a result, whatever the library makes of it.
function words(content) {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(words).join("");
  for (const key of ["content", "text", "contents", "messages"])
    if (content?.[key] !== undefined) return words(content[key]);
  return JSON.stringify(content);
}

async function failure(call) {
  try {
    return words(await call());
  } catch (error) {
    return String(error.message ?? error);
  }
}

async function sdk() {
  const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
  const { ElicitRequestSchema } = await load("@modelcontextprotocol/sdk/types.js");
  const capabilities = { elicitation: {} };
  const client = new Client({ name: "nine", version: "1" }, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, async () => ({
    action: "accept",
    content: { sure: true },
  }));
  const transport = new StdioClientTransport({ command: program, args, env });
  await client.connect(transport, { timeout });
  const call = (tool, args_ = {}) => 
    client.callTool({ name: tool, arguments: args_ }, undefined, { timeout });
  const found = {
    tools: (await client.listTools({}, { timeout })).tools.map((tool) => tool.name),
    call: words(await call("server_greet", given)),
    error: await failure(() => call("server_fail")),
    resource: words(await client.readResource({ uri: "server://one" }, { timeout })),
    prompt: words(
      await client.getPrompt({ name: "server_hello", arguments: given }, { timeout }),
    ),
    question: words(await call("server_ask")),
  };
  await client.close();
  return found;
}

async function ai_sdk() {
  const library = await load("@ai-sdk/mcp");
  const { Experimental_StdioMCPTransport: Transport } = await load("@ai-sdk/mcp/mcp-stdio");
  const create = library.createMCPClient ?? library.experimental_createMCPClient;
  const client = await create({
    transport: new Transport({ command: program, args, env }),
    capabilities: { elicitation: {} },
  });
  client.onElicitationRequest(library.ElicitationRequestSchema, async () => ({
    action: "accept",
    content: { sure: true },
  }));
  const tools = await client.tools();
  const prompt = client.getPrompt ?? client.experimental_getPrompt;
  const call = (tool, args_ = {}) =>
    tools[tool].execute(args_, { messages: [], toolCallId: "1" });
  const found = {
    tools: Object.keys(tools),
    call: words(await call("server_greet", given)),
    error: await failure(() => call("server_fail")),
    resource: words(await client.readResource({ uri: "server://one" })),
    prompt: words(await prompt.call(client, { name: "server_hello", arguments: given })),
    question: words(await call("server_ask")),
  };
  await client.close();
  return found;
}

async function mastra() {
  const { MCPClient } = await load("@mastra/mcp");
  const client = new MCPClient({ timeout, servers: { host: { command: program, args, env } } });
  await client.elicitation.onRequest("host", async () => ({
    action: "accept",
    content: { sure: true },
  }));
  const tools = await client.getTools();
  const call = (tool, context = {}) => tools[`host_${tool}`].execute({ context });
  const found = {
    tools: Object.keys(tools).map((tool) => tool.replace("host_", "")),
    call: words(await call("server_greet", given)),
    error: await failure(() => call("server_fail")),
    resource: words(await client.resources.read("host", "server://one")),
    prompt: words(
      await client.prompts.get({ serverName: "host", name: "server_hello", args: given }),
    ),
    question: words(await call("server_ask")),
  };
  await client.disconnect();
  return found;
}

const libraries = { sdk, ai_sdk, mastra };
console.log(JSON.stringify(await libraries[name]()));
process.exit(0);
