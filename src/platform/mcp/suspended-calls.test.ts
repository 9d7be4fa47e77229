/** Questions of servers of the revision 2025-11-25, asked by one of our servers and answered at another. */
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { type AskedCall, type AskingServer, startAskingServer } from '../../../test/fakes/asking-mcp-server.ts';
import { createClient, startPlatform, type TestPlatform } from '../../../test/support/platform.ts';
import { eventually, makeSmith, smithOf, type TestSmith } from '../../../test/support/turns.ts';

const options = { outboundAllow: ['127.0.0.1', 'example.com'] };
let b: TestPlatform;
/** For runs of a server that stays; a test whose server leaves has one of its own. */
let staying: TestPlatform;
before(async () => {
  b = await startPlatform(options);
  staying = await startPlatform({ ...options, sharing: b });
});
after(async () => {
  await staying.close();
  await b.close();
});

interface Asked {
  readonly server: AskingServer;
  readonly call: AskedCall;
  readonly a: TestPlatform;
  readonly onA: TestSmith;
  readonly onB: TestSmith;
  readonly runId: string;
  readonly approvalId: string;
}

/** A run that server A has started, paused by a question. */
async function ask(t: TestContext, eventIds: boolean, { times = 1, leaves = false } = {}): Promise<Asked> {
  const server = await startAskingServer({ eventIds });
  const started = leaves ? await startPlatform({ ...options, sharing: b }) : staying;
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= started.close();
    return closed;
  };
  t.after(async () => {
    if (leaves) await close();
    await server.close();
  });
  await eventually(async () => {
    const { rows } = await b.db.query({
      text: `select from replicas where (resting or heartbeat_at > now() - interval '3 seconds') and not leaving`,
    });
    return rows.length >= 2 ? true : undefined;
  }, 'both servers beat or rest');
  const onB = await makeSmith(b);
  const put = await onB.project.put('/v1/tenant/mcp/peer', { url: server.url });
  assert.equal(put.status, 201, put.text);
  const refreshed = await onB.project.post('/v1/tenant/mcp/peer/refresh');
  assert.equal(refreshed.body.status, 'ready', refreshed.text);
  const onA = smithOf({ ...onB.project, ...createClient(started.url, onB.project.token) }, onB.id);
  const { body } = await onA.ask(`Call the tool peer__ask with ${JSON.stringify({ times })}`);
  assert.equal(body.status, 'paused', JSON.stringify(body));
  const approvalId = body.output.tool_calls[0].approval_id as string;
  const call = server.calls[0] ?? assert.fail('the tool was not called');
  return { server, call, a: { ...started, close }, onA, onB, runId: body.id, approvalId };
}

const approve = (approvalId: string, name = 'Ada') => ({
  kind: 'approval',
  approval_id: approvalId,
  decision: 'approve',
  content: { name },
});

/** What the model was told. */
async function outputOf({ onB, runId }: Asked) {
  const { rows } = await b.db.query<{ output: unknown; error: string | null }>({
    text: `select output, error from run_steps where project_id = $1 and run_id = $2 and kind = 'tool'`,
    values: [onB.project.projectId, runId],
  });
  return rows[0];
}

async function listSuspended(runId: string) {
  const { rows } = await b.db.query<{ sealed_session: string }>({
    text: 'select sealed_session from mcp_suspended_calls where run_id = $1',
    values: [runId],
  });
  return rows;
}

const resultOf = (...names: string[]) => ({
  content: [{ type: 'text', text: JSON.stringify(names.map((name) => ({ action: 'accept', content: { name } }))) }],
});

test('a stream whose events have ids is let go, and any server goes on with the call, which is made once', async (t) => {
  const asked = await ask(t, true, { leaves: true });
  const { server, call, onB, runId, approvalId, a } = asked;
  await eventually(() => call.isLetGo || undefined, 'the stream is let go');
  assert.deepEqual([server.endedSessions.includes(call.session), call.cancelled], [false, false]);
  const [suspended] = await listSuspended(runId);
  assert.ok(suspended !== undefined && !suspended.sealed_session.includes(call.session), 'the session is sealed');
  await a.close();
  const answered = await onB.submit(runId, approve(approvalId));
  assert.equal(answered.body.status, 'completed', answered.text);
  assert.deepEqual((await outputOf(asked))?.output, resultOf('Ada'));
  assert.deepEqual([server.calls.length, call.answers.length, call.resumed >= 1], [1, 1, true]);
  await eventually(() => server.endedSessions.includes(call.session) || undefined, 'the session ends');
  assert.equal(call.cancelled, false, 'a call that gave its result is not cancelled');
  await eventually(async () => (await listSuspended(runId)).length === 0 || undefined, 'nothing is kept of it');
});

test('a call that asks twice is gone on with twice', async (t) => {
  const asked = await ask(t, true, { times: 2 });
  const { server, onA, onB, runId, approvalId } = asked;
  const between = await onB.submit(runId, approve(approvalId));
  assert.equal(between.body.status, 'paused', between.text);
  const second = between.body.output.tool_calls[0].approval_id;
  assert.equal((await onB.project.get(`/v1/approvals/${second}`)).body.elicitation.message, 'Name 2?');
  const done = await onA.submit(runId, approve(second, 'Bo'));
  assert.equal(done.body.status, 'completed', done.text);
  assert.deepEqual((await outputOf(asked))?.output, resultOf('Ada', 'Bo'));
  assert.equal(server.calls.length, 1);
});

test('who declines is told to the server that asked', async (t) => {
  const { call, onB, runId, approvalId } = await ask(t, true);
  const declined = await onB.submit(runId, { kind: 'approval', approval_id: approvalId, decision: 'reject' });
  assert.equal(declined.body.status, 'completed', declined.text);
  assert.deepEqual(
    call.answers.map(({ result }) => result),
    [{ action: 'decline' }],
  );
});

test('a server that leaves while it reads a call on leaves the call to the next', async (t) => {
  const asked = await ask(t, true, { leaves: true });
  const { server, call, a, onA, onB, runId, approvalId } = asked;
  server.isSlow = true;
  const answering = onA.submit(runId, approve(approvalId)).catch(() => undefined);
  await eventually(() => call.answers.length === 1 || undefined, 'the answer is posted');
  await a.close();
  await answering;
  await eventually(() => call.answers.length === 2 || undefined, 'the other server posts it again');
  assert.deepEqual([call.cancelled, server.endedSessions.includes(call.session)], [false, false]);
  server.isSlow = false;
  await eventually(async () => (await onB.get(runId)).status === 'completed' || undefined, 'the run completes');
  assert.equal(server.calls.length, 1);
  assert.equal((await outputOf(asked))?.error, null);
});

test('an answer whose session has ended is told to the model, and the call is not made again', async (t) => {
  const asked = await ask(t, true);
  const { server, onB, runId, approvalId } = asked;
  server.forgetSessions();
  const answered = await onB.submit(runId, approve(approvalId));
  assert.equal(answered.body.status, 'completed', answered.text);
  assert.match((await outputOf(asked))?.error ?? '', /the session in which the question was asked has ended/);
  assert.equal(server.calls.length, 1);
});

for (const [what, eventIds] of [
  ['let go', true],
  ['held open', false],
] as const) {
  test(`a run that is cancelled at another server ends its call that is ${what}, and the session`, async (t) => {
    const { server, call, onB, runId } = await ask(t, eventIds);
    if (!eventIds) assert.equal(call.isLetGo, false);
    assert.equal((await onB.cancel(runId)).status, 200);
    await eventually(() => server.endedSessions.includes(call.session) || undefined, 'the session ends');
    assert.equal(call.cancelled, true);
    await eventually(() => call.isLetGo || undefined, 'the stream is closed');
    await eventually(async () => (await listSuspended(runId)).length === 0 || undefined, 'nothing is kept of it');
  });
}

test('a call without event ids is held open, and an answer that comes to another server is brought to it', async (t) => {
  const asked = await ask(t, false);
  const { server, call, onB, runId, approvalId } = asked;
  assert.deepEqual([call.isLetGo, await listSuspended(runId)], [false, []]);
  const answered = await onB.submit(runId, approve(approvalId));
  assert.equal(answered.body.status, 'completed', answered.text);
  assert.deepEqual((await outputOf(asked))?.output, resultOf('Ada'));
  assert.deepEqual([server.calls.length, call.answers.length], [1, 1]);
});

test('a server that gives up waiting closes its question, and the run goes on with what it gave', async (t) => {
  const asked = await ask(t, false);
  const { call, onB, runId, approvalId } = asked;
  call.end('Nobody answered.');
  await eventually(async () => (await onB.get(runId)).status === 'completed' || undefined, 'the run goes on');
  const approval = (await onB.project.get(`/v1/approvals/${approvalId}`)).body;
  assert.deepEqual([approval.status, approval.actor], ['expired', null]);
  assert.deepEqual((await outputOf(asked))?.output, { content: [{ type: 'text', text: 'Nobody answered.' }] });
});

test('a question that only a server held which has gone closes, and the run goes on by itself', async (t) => {
  const asked = await ask(t, false, { leaves: true });
  await asked.a.close();
  await eventually(async () => (await asked.onB.get(asked.runId)).status === 'completed' || undefined, 'it goes on');
  assert.equal((await asked.onB.project.get(`/v1/approvals/${asked.approvalId}`)).body.status, 'expired');
  assert.match((await outputOf(asked))?.error ?? '', /had closed before the answer came/);
});

for (const decision of ['approve', 'cancel'] as const) {
  test(`a call of a server that its request brought goes on, and ends, with what the request gave (${decision})`, async (t) => {
    const server = await startAskingServer({ eventIds: true });
    t.after(() => server.close());
    const smith = await makeSmith(b);
    const brought = { type: 'mcp', server_label: 'peer', server_url: server.url, require_approval: 'never' };
    const first = await smith.project.post(
      '/v1/responses',
      { input: 'Call the tool peer__ask with {}', tools: [{ ...brought, authorization: 'brought-5c1e' }] },
      { 'ic-smith-id': smith.id },
    );
    assert.equal(first.status, 200, first.text);
    const [waiting] = (await smith.project.get('/v1/approvals?status=pending')).body.data;
    const call = server.calls[0] ?? assert.fail('the tool was not called');
    await eventually(() => call.isLetGo || undefined, 'the stream is let go');
    if (decision === 'cancel') await smith.cancel(waiting.run_id);
    else assert.equal((await smith.submit(waiting.run_id, approve(waiting.id))).body.status, 'completed');
    await eventually(() => server.endedSessions.includes(call.session) || undefined, 'the session ends');
    assert.deepEqual([server.calls.length, call.cancelled], [1, decision === 'cancel']);
    assert.deepEqual(new Set(server.authorizations), new Set(['Bearer brought-5c1e']));
    await eventually(async () => (await listSuspended(waiting.run_id)).length === 0 || undefined, 'nothing is kept');
  });
}
