// Uses `longhaul mcp` through the official MCP SDK, which validates every result against the schema of its tool.
// Arguments: the protocol to negotiate (`legacy` or `modern`), and the command of the server.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import assert from 'node:assert/strict';

const require = createRequire(`${process.env.LONGHAUL_TEST_MCP_SDK}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { Client } = await load('@modelcontextprotocol/client');
const { StdioClientTransport } = await load('@modelcontextprotocol/client/stdio');

const [era, command, ...args] = process.argv.slice(2);
const mode = era === 'modern' ? { pin: '2026-07-28' } : 'legacy';
const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));

const { tools } = await client.listTools();
const find = (name) => tools.find((tool) => tool.name === name);
assert.equal(find('status').annotations.readOnlyHint, true);
assert.equal(find('cancel').annotations.destructiveHint, true);
assert.equal(find('logs').outputSchema, undefined);
assert.ok(find('run').outputSchema && find('why').outputSchema);

// A detached run, its report, and its end.
const started = await client.callTool({ name: 'run', arguments: { prompt: 'write the file' } });
const { id } = started.structuredContent.run;
const attached = await client.callTool({ name: 'attach', arguments: { run: id } });
assert.equal(attached.structuredContent.run.outcome, 'done');
for (const name of ['show', 'why', 'logs', 'diff', 'status', 'cost', 'recover', 'cancel', 'gsd_status']) {
  const takesRun = 'run' in find(name).inputSchema.properties;
  const result = await client.callTool({ name, arguments: takesRun ? { run: id } : {} });
  assert.equal(result.isError ?? false, ['recover', 'cancel', 'gsd_status'].includes(name), JSON.stringify(result));
}
const { resources } = await client.listResources();
assert.ok(resources.some((resource) => resource.uri === `longhaul://runs/${id}/report`));
const report = await client.readResource({ uri: `longhaul://runs/${id}/report` });
assert.ok(report.contents[0].text.includes(`${id}  done`), report.contents[0].text);

// A tied run: progress while it works, and cancellation with the request.
const messages = [];
const tied = await client.callTool(
  { name: 'run', arguments: { prompt: 'LATER: try again', detached: false } },
  { onprogress: ({ message }) => messages.push(message) },
);
assert.equal(tied.structuredContent.run.outcome, 'done', JSON.stringify(tied));
assert.ok(messages.some((message) => message.includes('overloaded')), JSON.stringify(messages));

const abort = new AbortController();
const cancelled = client.callTool(
  { name: 'run', arguments: { prompt: 'FOREVER: wait', name: 'forever', detached: false } },
  { signal: abort.signal },
);
let waiting;
for (let tries = 0; tries < 600 && !waiting; tries += 1) {
  await new Promise((resolve) => setTimeout(resolve, 100));
  const status = await client.callTool({ name: 'status', arguments: {} });
  waiting = status.structuredContent.runs.find((run) => run.name === 'forever');
}
abort.abort();
await assert.rejects(cancelled);
const end = await client.callTool({ name: 'attach', arguments: { run: 'forever' } });
assert.equal(end.structuredContent.run.outcome, 'cancelled', JSON.stringify(end));
await client.close();
console.log(`used ${tools.length} tools`);
