import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startTools, TOOL_TEXT } from './start-tools.ts';

it('the tool that is measured with gives back its text to a client of the protocol', async () => {
  await using served = new AsyncDisposableStack();
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(await startTools(served))));
  assert.deepEqual(
    (await client.listTools()).tools.map(({ name }) => name),
    ['echo'],
  );
  const { content } = await client.callTool({ name: 'echo', arguments: { text: TOOL_TEXT } });
  assert.deepEqual(content, [{ type: 'text', text: TOOL_TEXT }]);
  await client.close();
});
