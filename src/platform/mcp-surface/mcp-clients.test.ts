/** MCP deployments by the protocol's own clients, of both generations and in both revisions. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { startOpenAiUpstream } from '../../../test/fakes/openai-upstream.ts';
import {
  type McpDeployment,
  messageOf,
  publishAgent,
  publishMcp,
  sendLegacy,
} from '../../../test/support/mcp-deployment.ts';
import { startPlatform, type TestPlatform, type TestProject } from '../../../test/support/platform.ts';
import { createTestTools } from '../../../test/support/tools.ts';
import { makeUpstreamSmith } from '../../../test/support/turns.ts';

const WHO = { name: 'test', version: '1' };
const PAGE = '<!doctype html><title>Card</title><h1>Card</h1>';

interface Called {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent: {
    readonly run_id: string | null;
    readonly thread_id: string | null;
    readonly status: string;
  };
  readonly isError?: boolean;
}

interface AnyClient {
  readonly revision: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: what clients of two generations list has two types.
  listTools(): Promise<any[]>;
  call(name: string, args: Record<string, unknown>, onProgress?: (message: string) => void): Promise<Called>;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  listResources(): Promise<any[]>;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readResource(uri: string): Promise<any>;
  close(): Promise<void>;
}

type Connect = (url: URL, headers: Record<string, string>) => Promise<AnyClient>;

const connectOld: Connect = async (url, headers) => {
  const client = new OldClient(WHO);
  const transport = new OldTransport(url, { requestInit: { headers } });
  await client.connect(transport as never);
  return {
    revision: transport.protocolVersion,
    listTools: async () => (await client.listTools()).tools,
    call: async (name, args, onProgress) =>
      (await client.callTool({ name, arguments: args }, undefined, progressOf(onProgress))) as unknown as Called,
    listResources: async () => (await client.listResources()).resources,
    readResource: (uri) => client.readResource({ uri }),
    close: () => client.close(),
  };
};

const connectWith =
  (options: ClientOptions): Connect =>
  async (url, headers) => {
    const client = new Client(WHO, options);
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
    return {
      revision: client.getNegotiatedProtocolVersion(),
      listTools: async () => (await client.listTools()).tools,
      call: async (name, args, onProgress) =>
        (await client.callTool({ name, arguments: args }, progressOf(onProgress))) as unknown as Called,
      listResources: async () => (await client.listResources()).resources,
      readResource: (uri) => client.readResource({ uri }),
      close: () => client.close(),
    };
  };

function progressOf(onProgress: ((message: string) => void) | undefined) {
  return onProgress === undefined
    ? {}
    : { onprogress: ({ message }: { message?: string | undefined }) => onProgress(message ?? '') };
}

const clients: readonly [name: string, revision: string, connect: Connect][] = [
  ['@modelcontextprotocol/sdk', '2025-11-25', connectOld],
  ['@modelcontextprotocol/client, legacy', '2025-11-25', connectWith({ versionNegotiation: { mode: 'legacy' } })],
  ['@modelcontextprotocol/client, auto', '2026-07-28', connectWith({ versionNegotiation: { mode: 'auto' } })],
];

const tools = createTestTools();
const upstream = await startOpenAiUpstream();
let platform: TestPlatform;
let project: TestProject;
let agentId: string;
let server: McpDeployment;
before(async () => {
  platform = await startPlatform({ toolSources: [tools.source] });
  project = await platform.createProject();
  agentId = await publishAgent(project);
  await uploadCard();
  await project.post(`/v1/agents/${agentId}/rollout`, { version: 2 });
  server = await publishMcp(project, { type: 'agent', id: agentId });
});
after(async () => {
  await platform.close();
  await upstream.close();
});

async function uploadCard(): Promise<void> {
  const form = new FormData();
  form.set('name', 'card');
  form.set('csp', JSON.stringify({ connectDomains: ['https://api.example.com'] }));
  form.set('prefers_border', 'true');
  const schema = { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] };
  form.set('tool', JSON.stringify({ description: 'Shows a card.', instruction: 'Say so.', input_schema: schema }));
  form.set('file', new Blob([PAGE], { type: 'text/html' }), 'card.html');
  assert.equal((await project.post(`/v1/agents/${agentId}/ui`, form)).status, 201);
  assert.equal((await project.post(`/v1/agents/${agentId}/versions`, {})).status, 201);
}

for (const [name, revision, connect] of clients) {
  describe(name, () => {
    let smithId: string;
    let client: AnyClient;
    before(async () => {
      smithId = await project.createSmith({ agent_id: agentId, model: null });
      const token = await project.smithToken(smithId, ['runs:write']);
      client = await connect(new URL(platform.url + server.path), { authorization: `Bearer ${token}` });
    });
    after(() => client.close());

    const runsOf = async () => (await project.get(`/v1/smiths/${smithId}/runs`)).body.data;

    test('speaks the revision, and sees the tools', async () => {
      assert.equal(client.revision, revision);
      const listed = await client.listTools();
      assert.deepEqual(
        listed.map((tool) => tool.name),
        ['ask', 'get_reply', 'card'],
      );
    });

    test('asks, and goes on with the conversation', async () => {
      const first = await client.call('ask', { message: 'Write 3 words' });
      const { run_id, thread_id, status } = first.structuredContent;
      const [run] = await runsOf();
      assert.deepEqual([run_id, thread_id, status], [run.id, run.thread_id, 'completed']);
      assert.deepEqual([first.isError, first.content], [undefined, [{ type: 'text', text: run.output.content }]]);
      const second = await client.call('ask', { message: 'Write 3 words', thread_id });
      assert.equal(second.structuredContent.thread_id, thread_id);
      assert.notEqual(second.structuredContent.run_id, run_id);
    });

    test('hears of progress, and then the whole reply', async (t) => {
      const smith = await makeUpstreamSmith(platform, upstream);
      const { path } = await publishMcp(smith.project, { type: 'smith', id: smith.id });
      const token = await smith.project.smithToken(smith.id, ['runs:write']);
      const listener = await connect(new URL(platform.url + path), { authorization: `Bearer ${token}` });
      t.after(() => listener.close());
      const { promise: isHeard, resolve: goOn } = Promise.withResolvers<void>();
      // The rest is said once the client has heard of the beginning.
      const holdAt = (chunks: number) => (chunks === 2 ? isHeard : undefined);
      upstream.respondWith({ type: 'answer', deltas: ['One', ' two', ' three'], holdAt });
      const heard: string[] = [];
      const { content, structuredContent } = await listener.call('ask', { message: 'Hello' }, (said) => {
        heard.push(said);
        if (said === 'One two') goOn();
      });
      assert.match(heard[0] ?? '', new RegExp(`${structuredContent.run_id} has begun`));
      assert.ok(heard.includes('One two'), heard.join('\n'));
      assert.equal(content[0]?.text, 'One two three');
    });

    test('is told that a turn failed', async () => {
      const { isError, structuredContent, content } = await client.call('ask', { message: 'Fail with 401' });
      assert.deepEqual([isError, structuredContent.status], [true, 'failed']);
      assert.match(content[0]?.text ?? '', /^The turn failed: /);
    });

    test('waits for a decision, and gets the reply after it', async () => {
      const paused = await client.call('ask', { message: 'Call the tool guarded with {"n":1}' });
      const { run_id, status } = paused.structuredContent;
      assert.deepEqual([paused.isError, status], [undefined, 'paused']);
      assert.match(paused.content.at(-1)?.text ?? '', /decision on guarded/);
      assert.equal((await client.call('get_reply', { run_id })).structuredContent.status, 'paused');
      const { body: run } = await project.get(`/v1/smiths/${smithId}/runs/${run_id}`);
      const approval = { kind: 'approval', approval_id: run.output.tool_calls[0].approval_id, decision: 'approve' };
      await project.post(`/v1/smiths/${smithId}/runs/${run_id}/submit`, approval);
      const reply = await client.call('get_reply', { run_id });
      assert.deepEqual(reply.structuredContent, { ...paused.structuredContent, status: 'completed' });
      assert.match(reply.content[0]?.text ?? '', /"echoed":\{"n":1\}/);
    });

    test('asks twice at once: one turn follows the other', async () => {
      const said = await Promise.all([1, 2].map(() => client.call('ask', { message: 'Write 5 words' })));
      assert.deepEqual(
        said.map(({ structuredContent }) => structuredContent.status),
        ['completed', 'completed'],
      );
      assert.notEqual(said[0]?.structuredContent.run_id, said[1]?.structuredContent.run_id);
    });

    test('shows the version’s UI as an app', async () => {
      const uri = `ui://${agentId}/card`;
      const tool = (await client.listTools()).find((one) => one.name === 'card');
      assert.deepEqual(tool._meta.ui, { resourceUri: uri, visibility: ['model', 'app'] });
      const [resource] = await client.listResources();
      assert.deepEqual([resource.uri, resource.mimeType], [uri, 'text/html;profile=mcp-app']);
      const { contents } = await client.readResource(uri);
      const [document] = contents;
      assert.deepEqual([document.mimeType, document.text], ['text/html;profile=mcp-app', PAGE]);
      assert.deepEqual(
        [document._meta.ui.csp.connectDomains, document._meta.ui.prefersBorder],
        [['https://api.example.com'], true],
      );
      const before = (await runsOf()).length;
      const shown = await client.call('card', { title: 'é' });
      assert.deepEqual(shown.structuredContent as object, {
        instruction: 'Say so.',
        arguments: { title: 'é' },
        resource_uri: uri,
      });
      assert.equal((await client.call('card', { title: 7 })).isError, true);
      assert.equal((await runsOf()).length, before);
      await assert.rejects(client.readResource(`ui://${agentId}/none`));
    });
  });
}

test('the reply of a turn that paused is all that it said, before and after', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  upstream.respondWith([
    { type: 'answer', deltas: ['Let me see.'], toolCalls: [{ name: 'guarded', arguments: '{}' }] },
    { type: 'answer', deltas: ['Done.'] },
  ]);
  const { path } = await publishMcp(smith.project, { type: 'smith', id: smith.id });
  const call = async (name: string, args: object): Promise<Called> =>
    messageOf(await sendLegacy(smith.project, path, { id: 1, method: 'tools/call', params: { name, arguments: args } }))
      .result;
  const paused = await call('ask', { message: 'Hello' });
  const { run_id } = paused.structuredContent;
  assert.deepEqual([paused.structuredContent.status, paused.content[0]?.text], ['paused', 'Let me see.']);
  const { body: run } = await smith.project.get(`/v1/smiths/${smith.id}/runs/${run_id}`);
  const approval_id = run.output.tool_calls[0].approval_id;
  await smith.submit(run.id, { kind: 'approval', approval_id, decision: 'approve' });
  const reply = await call('get_reply', { run_id });
  assert.deepEqual(
    reply.content.map(({ text }) => text),
    ['Let me see.', 'Done.'],
  );
});
