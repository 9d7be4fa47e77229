/** Calls that need an account of the smith's user: the pause until it is connected, and what else ends it. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { readEvents } from '../../../../test/support/agents.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { collectFrames } from '../../../../test/support/read-frames.ts';
import { createTestTools } from '../../../../test/support/tools.ts';
import { eventually, makeSmith, type TestSmith } from '../../../../test/support/turns.ts';
import { noteConnection } from '../../engine/index.ts';
import { sweepConnectionWaits } from '../../maintenance/sweep-connection-waits.ts';

const tools = createTestTools();
const platform = await startPlatform({ toolSources: [tools.source] });
after(() => platform.close());

const CONNECTION = {
  provider: 'library',
  mcp_server: 'books',
  authorize_url: 'https://library.example/authorize?state=s',
};

/** As whoever stores a connection does. */
async function connect(smith: TestSmith, key = 'mcp:books'): Promise<void> {
  await platform.db.transaction(async (tx) => {
    await noteConnection(tx, { projectId: smith.project.projectId, smithId: smith.id, key });
    tools.connect(smith.id);
  });
}

async function askByAccount(smith: TestSmith, args: Record<string, unknown> = {}) {
  const { body } = await smith.ask(`Call the tool account with ${JSON.stringify(args)}`);
  return body;
}

function ended(smith: TestSmith, runId: string) {
  return eventually(async () => {
    const { body } = await smith.project.get(`/v1/smiths/${smith.id}/runs/${runId}`);
    return body.status === 'paused' || body.status === 'in_progress' ? undefined : body;
  }, 'the run ends');
}

const countWaits = async (runId: string): Promise<number> => {
  const { rows } = await platform.db.query({
    text: 'select 1 from connection_waits where run_id = $1',
    values: [runId],
  });
  return rows.length;
};

test('a call without an account pauses its run with the link, and goes on by itself once it is connected', async () => {
  const smith = await makeSmith(platform);
  const paused = await askByAccount(smith, { book: 7 });
  const [call] = paused.output.tool_calls;
  assert.deepEqual([paused.status, call.status, call.connection], ['paused', 'requires_connection', CONNECTION]);
  const frames = await collectFrames(await smith.events(paused.id));
  const last = frames.at(-1);
  assert.deepEqual(
    [last?.event, last?.data.data.reason, last?.data.data.tool_calls[0].connection],
    ['run.paused', 'connection_required', CONNECTION],
  );
  const [required] = await readEvents(smith.project, 'connection.required');
  assert.deepEqual(required?.data, { run_id: paused.id, thread_id: paused.thread_id, ...CONNECTION });
  await connect(smith, 'mcp:other');
  assert.equal((await smith.ask('Write 3 words')).body.status, 'completed', 'the smith is free meanwhile');
  await connect(smith);
  const run = await ended(smith, paused.id);
  assert.deepEqual([run.status, run.output.tool_calls[0].status], ['completed', 'completed']);
  assert.equal('connection' in run.output.tool_calls[0], false);
  assert.equal(tools.callsOf(paused.id).length, 2);
  assert.equal(await countWaits(paused.id), 0);
});

test('a call that finds an account leaves no wait behind, though a replica has ended before its pause', async () => {
  const smith = await makeSmith(platform);
  const paused = await askByAccount(smith);
  tools.connect(smith.id);
  // What is stored when a replica ends after it has noted the wait.
  const values = [paused.id];
  await platform.db.query({
    text: `update run_steps set status = 'ready' where run_id = $1 and kind = 'tool'`,
    values,
  });
  await platform.db.query({ text: `update runs set status = 'in_progress', replica_id = null where id = $1`, values });
  await platform.db.notify('run_orphans', '');
  assert.equal((await ended(smith, paused.id)).status, 'completed');
  assert.equal(await countWaits(paused.id), 0);
});

test('an account of another smith, or of another server, lets nothing go on', async () => {
  const smith = await makeSmith(platform);
  const other = await makeSmith(platform);
  const paused = await askByAccount(smith);
  await connect(other);
  await platform.db.transaction((tx) =>
    noteConnection(tx, { projectId: smith.project.projectId, smithId: smith.id, key: 'mcp:films' }),
  );
  const { body } = await smith.project.get(`/v1/smiths/${smith.id}/runs/${paused.id}`);
  assert.equal(body.status, 'paused');
  const { rows } = await platform.db.query({
    text: 'select connected_at from connection_waits where run_id = $1',
    values: [paused.id],
  });
  assert.deepEqual(rows, [{ connected_at: null }]);
});

test('an account that was connected since the call looked for it is found', async () => {
  const smith = await makeSmith(platform);
  const { db } = platform;
  const holding = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  // Somebody is just connecting one when the call looks.
  const connecting = db.transaction(async (tx) => {
    await noteConnection(tx, { projectId: smith.project.projectId, smithId: smith.id, key: 'mcp:books' });
    held.resolve();
    if (db.kind === 'server') await holding.promise;
    tools.connect(smith.id);
  });
  await held.promise;
  const asked = askByAccount(smith);
  holding.resolve();
  await connecting;
  const run = await asked;
  assert.equal((await ended(smith, run.id)).status, 'completed');
});

test('who rejects lets the turn go on without an account, and nothing else answers the call', async () => {
  const smith = await makeSmith(platform);
  const paused = await askByAccount(smith);
  const [call] = paused.output.tool_calls;
  const submit = (body: Record<string, unknown>) => smith.submit(paused.id, { tool_call_id: call.id, ...body });
  for (const body of [
    { kind: 'approval', decision: 'approve' },
    { kind: 'tool_result', result: { done: true } },
  ]) {
    const refused = await submit(body);
    assert.deepEqual([refused.status, refused.body.error?.code], [409, 'invalid_state'], refused.text);
    assert.match(refused.body.error.message, /until an account is connected/);
  }
  const rejected = await submit({ kind: 'approval', decision: 'reject', reason: 'Not now' });
  assert.equal(rejected.body.status, 'completed', rejected.text);
  const [failed] = rejected.body.output.tool_calls;
  assert.equal(failed.status, 'failed');
  assert.equal(tools.callsOf(paused.id).length, 1);
  assert.equal(await countWaits(paused.id), 0);
  await connect(smith);
});

test('the run goes on once everything that it waits for is there', async () => {
  const smith = await makeSmith(platform);
  const { body: paused } = await smith.ask('Call the tool account with {} and call the tool guarded with {"n":1}');
  const [account, guarded] = paused.output.tool_calls;
  assert.deepEqual([account.status, guarded.status], ['requires_connection', 'requires_approval']);
  await connect(smith);
  const { body: between } = await eventually(async () => {
    const read = await smith.project.get(`/v1/smiths/${smith.id}/runs/${paused.id}`);
    return read.body.output.tool_calls[0].status === 'executing' ? read : undefined;
  }, 'the account reaches the run');
  assert.equal(between.status, 'paused');
  const done = await smith.submit(paused.id, {
    kind: 'approval',
    approval_id: guarded.approval_id,
    decision: 'approve',
  });
  assert.equal(done.body.status, 'completed', done.text);
  assert.deepEqual(
    done.body.output.tool_calls.map(({ status }: { status: string }) => status),
    ['completed', 'completed'],
  );
});

test('a run that is cancelled while it waits leaves a note that is swept', async () => {
  const smith = await makeSmith(platform);
  const paused = await askByAccount(smith);
  await smith.cancel(paused.id);
  const run = await ended(smith, paused.id);
  assert.deepEqual([run.status, run.output.tool_calls[0].status], ['cancelled', 'cancelled']);
  assert.equal(await countWaits(paused.id), 1);
  await sweepConnectionWaits(platform.db, new AbortController().signal);
  assert.equal(await countWaits(paused.id), 0);
});

test('where no account can be connected, or nobody can see to it, the model is told, and the turn goes on', async () => {
  const smith = await makeSmith(platform);
  const nowhere = await askByAccount(smith, { nowhere: true });
  assert.deepEqual([nowhere.status, nowhere.output.tool_calls[0].status], ['completed', 'failed']);
  const completion = await smith.project.post(
    '/v1/chat/completions',
    { model: 'builtin/demo', messages: [{ role: 'user', content: 'Call the tool account with {}' }] },
    { 'ic-smith-id': smith.id },
  );
  assert.equal(completion.body.choices[0].finish_reason, 'stop', completion.text);
  const events = await readEvents(smith.project, 'connection.required');
  assert.deepEqual(events.map(({ data }) => data.authorize_url).sort(), [CONNECTION.authorize_url, null].sort());
  const { rows } = await platform.db.query<{ error: string }>({
    text: `select error from run_steps where project_id = $1 and error is not null order by started_at`,
    values: [smith.project.projectId],
  });
  assert.match(rows[0]?.error ?? '', /has connected no account to books.*The call was not made/);
  assert.match(rows[1]?.error ?? '', /can connect one at https:\/\/library\.example/);
});
