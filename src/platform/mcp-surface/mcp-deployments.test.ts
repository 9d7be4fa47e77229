/** MCP deployments on the wire: who runs, sessions at any replica, what is refused, what ends with a stream. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertCommonHeaders, assertRefusal } from '../../../test/conformance/assert-refusal.ts';
import { startOpenAiUpstream } from '../../../test/fakes/openai-upstream.ts';
import {
  askMessage,
  initialize,
  messageOf,
  openModernCall,
  publishAgent,
  publishMcp,
  sendLegacy,
} from '../../../test/support/mcp-deployment.ts';
import { createClient, startPlatform } from '../../../test/support/platform.ts';
import { eventually, makeUpstreamSmith } from '../../../test/support/turns.ts';
import { mintId } from '../../kernel/ids/ids.ts';

const platform = await startPlatform();
/** Another replica, which waits for no reply. */
const other = await startPlatform({
  sharing: { db: platform.db, vault: platform.vault, blobs: platform.blobs },
  mcpReplyWaitMs: 1,
});
after(async () => {
  await other.close();
  await platform.close();
});

const LIST = { id: 1, method: 'tools/list' };
const project = await platform.createProject();
const there = createClient(other.url, project.token);
const nobody = createClient(platform.url, '');
const agentId = await publishAgent(project);
const onAgent = await publishMcp(project, { type: 'agent', id: agentId });
const smithId = await project.createSmith();
const onSmith = await publishMcp(project, { type: 'smith', id: smithId });

const makeSmith = () => project.createSmith({ agent_id: agentId, model: null });
const tokenOf = async (id: string, scopes = ['runs:write']) => nobody.as(await project.smithToken(id, scopes));

async function runsOf(id: string) {
  return (await project.get(`/v1/smiths/${id}/runs`)).body.data;
}

async function runWithStatus(id: string, status: string) {
  return eventually(
    async () => (await runsOf(id)).find((run: { status: string }) => run.status === status),
    `a run is ${status}`,
  );
}

describe('who runs', () => {
  test('a smith token is its smith, a tenant token names one, or none where there is one', async () => {
    const [ada, bob] = [await makeSmith(), await makeSmith()];
    assert.equal((await sendLegacy(await tokenOf(ada), onAgent.path, askMessage(1, 'Write 2 words'))).status, 200);
    await sendLegacy(project, onAgent.path, askMessage(1, 'Write 2 words'), { 'ic-smith-id': bob });
    await sendLegacy(project, onSmith.path, askMessage(1, 'Write 2 words'));
    await sendLegacy(project, onSmith.path, askMessage(1, 'Write 3 words'), { 'ic-smith-id': smithId });
    const actors = await Promise.all([ada, bob, smithId].map(async (id) => (await runsOf(id)).map(actorKind)));
    assert.deepEqual(actors, [['smith'], ['tenant'], ['tenant', 'tenant']]);
    const [run] = await runsOf(bob);
    assert.deepEqual([run.channel, run.metadata], ['mcp', { deployment_id: onAgent.id }]);
  });

  test('nobody else does', async () => {
    const [ada, bob] = [await makeSmith(), await makeSmith()];
    const foreigner = await (await platform.createProject()).createSmith();
    const list = (client: typeof nobody, path: string, smith?: string) =>
      sendLegacy(client, path, LIST, smith === undefined ? {} : { 'ic-smith-id': smith });
    assertRefusal(await list(project, onAgent.path), 422, 'smith_required', 'IC-Smith-Id');
    assertRefusal(await list(project, onAgent.path, mintId('smt')), 404, 'smith_unresolved', 'IC-Smith-Id');
    assertRefusal(await list(project, onAgent.path, foreigner), 404, 'smith_unresolved', 'IC-Smith-Id');
    assertRefusal(await list(await tokenOf(ada), onAgent.path, bob), 403, 'smith_mismatch');
    assertRefusal(await list(project, onSmith.path, bob), 403, 'smith_mismatch');
    assertRefusal(await list(await tokenOf(ada), onSmith.path), 403, 'smith_mismatch');
    assertRefusal(await list(project, onAgent.path, smithId), 403, 'forbidden_target');
    assertRefusal(await list(await tokenOf(smithId), onAgent.path), 403, 'forbidden_target');
    const page = await project.post('/v1/deployments', { target: { type: 'smith', id: smithId }, kind: 'web' });
    assertRefusal(await list(project, `/v1/deployments/${page.body.id}/mcp`), 404, 'not_found');
  });

  test('`initialize` needs no smith', async () => {
    const session = await initialize(project, onAgent.path);
    const headers = { 'mcp-session-id': session };
    assertRefusal(await sendLegacy(project, onAgent.path, LIST, headers), 422, 'smith_required');
    const named = { ...headers, 'ic-smith-id': await makeSmith() };
    assert.equal((await sendLegacy(project, onAgent.path, LIST, named)).status, 200);
  });

  test('a disconnected server is out of service', async () => {
    const id = await project.createSmith();
    const { path } = await publishMcp(project, { type: 'smith', id });
    await project.delete(`/v1/smiths/${id}`);
    assertRefusal(await sendLegacy(project, path, LIST), 409, 'invalid_state');
  });
});

describe('a session', () => {
  test('is opened by every replica, and by nobody else', async () => {
    const [ada, bob] = [await makeSmith(), await makeSmith()];
    const asAda = { 'ic-smith-id': ada };
    const session = await initialize(project, onAgent.path, asAda);
    assert.match(session, /^[\x21-\x7e]+$/);
    const initialized = { method: 'notifications/initialized' };
    const headers = { ...asAda, 'mcp-session-id': session };
    assert.equal((await sendLegacy(there, onAgent.path, initialized, headers)).status, 202);
    assert.equal((await sendLegacy(there, onAgent.path, LIST, headers)).status, 200);

    const listed = (client: typeof nobody, path: string, more: Record<string, string>) =>
      sendLegacy(client, path, LIST, { 'mcp-session-id': session, ...more });
    assertRefusal(await listed(project, onAgent.path, { 'ic-smith-id': bob }), 403, 'session_mismatch');
    assertRefusal(await listed(await tokenOf(ada), onAgent.path, {}), 403, 'session_mismatch');
    const elsewhere = await publishMcp(project, { type: 'agent', id: agentId });
    assertRefusal(await listed(project, elsewhere.path, asAda), 404, 'session_not_found');
    for (const forged of [`${session.slice(0, -2)}AA`, 'nonsense', 'x'.repeat(5_000)]) {
      assertRefusal(
        await listed(project, onAgent.path, { ...asAda, 'mcp-session-id': forged }),
        404,
        'session_not_found',
      );
    }
  });

  test('begins one turn for a request, however often and wherever it arrives', async () => {
    const id = await makeSmith();
    const headers = {
      'ic-smith-id': id,
      'mcp-session-id': await initialize(project, onAgent.path, { 'ic-smith-id': id }),
    };
    const message = askMessage(7, 'Write 4 words');
    const answers = await Promise.all(
      [project, project, there].map((client) => sendLegacy(client, onAgent.path, message, headers)),
    );
    const runs = new Set(answers.map((answer) => messageOf(answer).result.structuredContent.run_id));
    assert.equal(runs.size, 1, answers.map(({ text }) => text).join('\n'));
    await sendLegacy(project, onAgent.path, askMessage(8, 'Write 4 words'), headers);
    assert.equal((await runsOf(id)).length, 2);
  });

  test('is ended by no request', async () => {
    for (const method of ['GET', 'DELETE', 'PUT', 'PATCH']) {
      const response = await nobody.open(method, onAgent.path);
      assert.deepEqual([response.status, response.headers.get('allow')], [405, 'POST'], method);
      assertCommonHeaders(response);
      const { error } = (await response.json()) as { error: { code: string } };
      assert.equal(error.code, 'invalid_request');
    }
  });
});

describe('a refusal', () => {
  test('of a token names whom to ask for one', async () => {
    const refused = await sendLegacy(nobody, onSmith.path, LIST);
    assertRefusal(refused, 401, 'unauthenticated');
    const where = `http://127.0.0.1:8787/.well-known/oauth-protected-resource${onSmith.path}`;
    const challenge = `Bearer realm="ironcraft", resource_metadata="${where}", scope="runs:write"`;
    assert.equal(refused.headers.get('www-authenticate'), challenge);
    const scoped = await sendLegacy(await tokenOf(smithId, ['runs:read']), onSmith.path, LIST);
    assertRefusal(scoped, 403, 'insufficient_scope');
    assert.equal(scoped.headers.get('www-authenticate'), `${challenge}, error="insufficient_scope"`);
  });

  test('of a conversation that the token may not get, or that is deleted, is a result that is an error', async () => {
    const made = await project.post('/v1/conversations', {}, { 'ic-smith-id': smithId });
    const thread = { arguments: { message: 'Write 2 words', thread_id: made.body.id } };
    const ask = async (scopes: string[]) =>
      messageOf(await sendLegacy(await tokenOf(smithId, scopes), onSmith.path, askMessage(1, '', thread))).result;
    const refused = await ask(['runs:write']);
    assert.deepEqual([refused.isError, refused._meta['ironcraft/code']], [true, 'conversation_not_found']);
    const answered = await ask(['runs:write', 'conversations:read']);
    assert.deepEqual([answered.isError ?? false, answered.structuredContent.thread_id], [false, made.body.id]);
    await project.delete(`/v1/conversations/${made.body.id}`);
    const deleted = await ask(['runs:write', 'conversations:read']);
    assert.deepEqual([deleted.isError, deleted._meta['ironcraft/code']], [true, 'conversation_not_found']);
  });

  test('of what is no message is the protocol’s', async () => {
    const send = (body: string, headers = {}) =>
      project.post(onSmith.path, body, { accept: 'application/json, text/event-stream', ...headers });
    const wrong: readonly [body: string, code: number][] = [
      ['{"jsonrpc"', -32_700],
      [`${'['.repeat(200)}${']'.repeat(200)}`, -32_700],
      [JSON.stringify([{ jsonrpc: '2.0', ...LIST }]), -32_600],
      ['7', -32_600],
    ];
    for (const [body, code] of wrong) {
      const { status, body: answer } = await send(body);
      assert.deepEqual(
        [status, answer.jsonrpc, answer.id, answer.error.code],
        [400, '2.0', null, code],
        body.slice(0, 50),
      );
    }
    assertRefusal(await send('{}', { 'content-type': 'text/plain' }), 422, 'invalid_request', 'Content-Type');
    assertRefusal(await send(`"${'x'.repeat(1_100_000)}"`), 413, 'payload_too_large');
    const unknown = { id: 'a', method: 'tools/call', params: { name: 'fly', arguments: {} } };
    const { id, error } = messageOf(await sendLegacy(project, onSmith.path, unknown));
    assert.deepEqual([id, error.code], ['a', -32_602]);
    const revision = await sendLegacy(project, onSmith.path, LIST, { 'mcp-protocol-version': '2024-11-05' });
    assert.equal(revision.status, 400, revision.text);
  });

  test('of arguments, or of a turn, is a result that is an error', async () => {
    const call = async (name: string, args: object) =>
      messageOf(
        await sendLegacy(project, onSmith.path, { id: 1, method: 'tools/call', params: { name, arguments: args } }),
      ).result;
    const wrong = [
      {},
      { message: '' },
      { message: 7 },
      { message: 'x'.repeat(100_001) },
      { message: 'Hello', thread_id: '' },
      { message: 'Hello', mood: 'good' },
    ];
    for (const args of wrong) {
      const result = await call('ask', args);
      assert.deepEqual(
        [result.isError, result.structuredContent.run_id],
        [true, null],
        JSON.stringify(args).slice(0, 80),
      );
    }
    const missing = await call('get_reply', { run_id: mintId('run') });
    assert.deepEqual([missing.isError, missing._meta['ironcraft/code']], [true, 'not_found']);
    const native = await project.post(`/v1/smiths/${smithId}/runs`, { input: [{ role: 'user', content: 'Hello' }] });
    assert.equal((await call('get_reply', { run_id: native.body.id })).isError, true);
    const failed = await call('ask', { message: 'Fail with 401' });
    assert.deepEqual([failed.isError, failed.structuredContent.status], [true, 'failed']);
    assert.match(failed.structuredContent.run_id, /^run_/);
  });

  test('of a page without an origin', async () => {
    const from = (origin: string) => sendLegacy(project, onSmith.path, LIST, { origin });
    for (const origin of ['https://app.example.com', 'null', new URL(platform.url).origin]) {
      assert.equal((await from(origin)).status, 200, origin);
    }
    const invalid = await from('nonsense');
    assert.deepEqual([invalid.status, invalid.body.error.param], [403, 'Origin']);
  });
});

describe('a client that leaves', () => {
  const LONG = 'Write 6000 words at 20 words per second';

  /** Reads until the turn has begun, then closes the stream. */
  async function leave(response: Response, cut: AbortController): Promise<void> {
    const reader = response.body?.getReader();
    const first = Buffer.from((await reader?.read())?.value ?? []).toString();
    assert.match(first, /notifications\/progress/);
    cut.abort();
  }

  test('ends its turn in 2026-07-28, whether or not it was told of progress', async () => {
    const [ada, bob] = [await makeSmith(), await makeSmith()];
    const call = { name: 'ask', arguments: { message: LONG } };
    const cut = new AbortController();
    const told = { ...call, progressToken: 'p' };
    await leave(await openModernCall(await tokenOf(ada), onAgent.path, told, cut.signal), cut);
    const silent = new AbortController();
    const unanswered = openModernCall(await tokenOf(bob), onAgent.path, call, silent.signal);
    await runWithStatus(bob, 'in_progress');
    silent.abort();
    await assert.rejects(unanswered);
    for (const id of [ada, bob]) await runWithStatus(id, 'cancelled');
  });

  test('does not in 2025-11-25', async () => {
    const id = await makeSmith();
    const cut = new AbortController();
    const headers = { 'ic-smith-id': id, accept: 'application/json, text/event-stream' };
    const { method, params } = askMessage(5, 'Write 60 words at 100 words per second', {
      _meta: { progressToken: 'p' },
    });
    const message = { jsonrpc: '2.0', id: 5, method, params };
    await leave(await project.open('POST', onAgent.path, message, headers, cut.signal), cut);
    const run = await eventually(
      async () => (await runsOf(id)).find(({ status }: { status: string }) => status !== 'in_progress'),
      'the turn has ended',
    );
    assert.equal(run.status, 'completed');
  });

  test('there says that it cancels, at whichever replica', async () => {
    const id = await makeSmith();
    const asSmith = { 'ic-smith-id': id };
    const headers = { ...asSmith, 'mcp-session-id': await initialize(project, onAgent.path, asSmith) };
    const asked = sendLegacy(project, onAgent.path, askMessage(5, LONG), headers);
    const run = await runWithStatus(id, 'in_progress');
    const cancel = (requestId: number) => ({ method: 'notifications/cancelled', params: { requestId } });
    assert.equal((await sendLegacy(there, onAgent.path, cancel(6), headers)).status, 202);
    assert.equal((await project.get(`/v1/smiths/${id}/runs/${run.id}`)).body.status, 'in_progress');
    assert.equal((await sendLegacy(there, onAgent.path, cancel(5), headers)).status, 202);
    const { isError, structuredContent } = messageOf(await asked).result;
    assert.deepEqual([isError, structuredContent.run_id, structuredContent.status], [true, run.id, 'cancelled']);
  });
});

test('a reply that takes long is asked for later, at any replica', async (t) => {
  const upstream = await startOpenAiUpstream();
  t.after(() => upstream.close());
  const smith = await makeUpstreamSmith(platform, upstream);
  const { path } = await publishMcp(smith.project, { type: 'smith', id: smith.id });
  const client = nobody.as(await smith.project.smithToken(smith.id, ['runs:write']));
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  upstream.respondWith({ type: 'answer', deltas: ['At', ' last'], held });
  const late = messageOf(await sendLegacy(there.as(client.token), path, askMessage(1, 'Hello'))).result;
  const { run_id, thread_id, status } = late.structuredContent;
  assert.deepEqual([status, late.isError], ['in_progress', undefined]);
  const again = { id: 2, method: 'tools/call', params: { name: 'get_reply', arguments: { run_id } } };
  const asked = sendLegacy(client, path, again);
  release();
  const reply = messageOf(await asked).result;
  assert.deepEqual(reply.structuredContent, { run_id, thread_id, status: 'completed' });
  assert.equal(reply.content[0].text, 'At last');
});

function actorKind({ actor }: { actor: { kind: string } }): string {
  return actor.kind;
}
