import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { type OpenAiAnswer, startOpenAiUpstream } from '../../../test/fakes/openai-upstream.ts';
import { readEvents } from '../../../test/support/agents.ts';
import { createClient, startPlatform, type TestPlatform } from '../../../test/support/platform.ts';
import { collectFrames } from '../../../test/support/read-frames.ts';
import { createTestTools } from '../../../test/support/tools.ts';
import {
  assemble,
  clientTool,
  eventually,
  framesUntil,
  isType,
  makeSmith,
  makeUpstreamSmith,
  openFrames,
  sentTexts,
  smithOf,
  type TestSmith,
} from '../../../test/support/turns.ts';

const upstream = await startOpenAiUpstream();
const tools = createTestTools();
/** Fails for a smith that asks for it: such as a tool server that is gone when the turn is taken up again. */
const fragile = {
  broken: false,
  toolsFor({ hostedTools }: { hostedTools: readonly string[] }) {
    if (fragile.broken && hostedTools.includes('current_time')) throw new Error('gone');
    return { tools: [] };
  },
};
const toolSources = [tools.source, fragile];
/** Longer than a turn takes on a machine that is busy. */
const DRAIN_TIMEOUT_MS = 120_000;
/** On a machine that is busy another server takes longer than its usual grace to stop a run, which is not what is tested. */
const CANCEL_GRACE_MS = 60_000;
/** Owns the database; lives through every test. */
let firstServer: TestPlatform;
before(async () => {
  firstServer = await startPlatform({ toolSources, cancelGraceMs: CANCEL_GRACE_MS });
});
after(async () => {
  await firstServer.close();
  await upstream.close();
});

/** A second server on the first server's database, known to it as alive; closed at the end of the test if not before. */
async function startSecond(t: TestContext): Promise<TestPlatform> {
  const started = await startPlatform({ toolSources, sharing: firstServer });
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= started.close();
    return closed;
  };
  t.after(close);
  const second = { ...started, close };
  // The embedded store has one process, so that a start takes every other replica that beats for dead: until its next heartbeat.
  await eventually(async () => {
    const { rows } = await firstServer.db.query({
      text: `select 1 from replicas where resting or heartbeat_at > now() - interval '3 seconds'`,
    });
    return rows.length >= 2 ? true : undefined;
  }, 'both servers beat or rest');
  return second;
}

/** The same smith, asked of another server. */
function onServer(server: TestPlatform, smith: TestSmith): TestSmith {
  const client = createClient(server.url, smith.project.token);
  return smithOf({ ...smith.project, ...client }, smith.id);
}

/** Makes a smith by way of `server`. */
async function smithOn(server: TestPlatform, settings: Record<string, unknown> = {}): Promise<TestSmith> {
  return makeSmith(server, settings);
}

function says(...deltas: string[]): OpenAiAnswer {
  return { type: 'answer', deltas };
}

async function setRun(runId: string, assignments: string): Promise<void> {
  const { rowCount } = await firstServer.db.query({
    text: `update runs set ${assignments} where id = $1`,
    values: [runId],
  });
  assert.equal(rowCount, 1);
  await lookForOrphans();
}

/** A server without anything to watch looks rarely by itself. */
async function lookForOrphans(): Promise<void> {
  await firstServer.db.notify('run_orphans', '');
}

async function countRows(table: 'messages' | 'run_steps' | 'run_events', runId: string): Promise<number> {
  const { rowCount } = await firstServer.db.query({
    text: `select 1 from ${table} where run_id = $1`,
    values: [runId],
  });
  return rowCount;
}

test('a turn whose server stops goes on elsewhere from its last step: no finished call is made again', async (t) => {
  const leaving = await startSecond(t);
  const smith = await smithOn(leaving);
  const here = onServer(firstServer, smith);
  const text = 'Call the tool echo with {"n":1} and call the tool gate with {"n":2}';
  const frames = openFrames(await smith.stream(text));
  const seen = await framesUntil(frames, isType('tool.completed'));
  const runId = seen[0]?.data.run_id;
  await eventually(() => (tools.callsOf(runId).length === 2 ? true : undefined), 'both calls run');
  const reader = collectFrames(await here.events(runId));
  await leaving.close();

  // Its own reader is told where to go on.
  const detached = (await framesUntil(frames, isType('stream.detached'))).at(-1);
  assert.deepEqual([detached?.id, detached?.data.resume], [undefined, `/v1/smiths/${smith.id}/runs/${runId}/events`]);
  await eventually(() => (tools.callsOf(runId).length === 3 ? true : undefined), 'the open call is made again');
  const [first, open, again] = tools.callsOf(runId);
  assert.deepEqual([first?.args, open?.args, again?.args], [{ n: 1 }, { n: 2 }, { n: 2 }]);
  assert.equal(again?.callId, open?.callId);
  assert.equal(open?.signal.aborted, true);
  tools.open(runId);

  const run = await here.settled(runId);
  assert.equal(run.status, 'completed', JSON.stringify(run.error));
  assert.match(run.output.content, /"n":1[\s\S]*"n":2/);
  assert.equal(tools.callsOf(runId).length, 3);
  const whole = await reader;
  assert.equal(assemble(whole).text, run.output.content);
  const restarts = whole.filter(isType('run.restarted'));
  assert.deepEqual(
    restarts.map(({ data }) => data.data),
    [{ attempt: 2, step: 3 }],
  );
  assert.deepEqual(
    whole.filter(isType('tool.completed')).map(({ data }) => data.data.tool),
    ['echo', 'gate'],
  );
  // Whoever had read as far as the old server showed gets the rest by its number.
  const last = seen.at(-1)?.id ?? 0;
  const rest = await collectFrames(await here.events(runId, last));
  assert.deepEqual(
    rest.map(({ id }) => id),
    whole.filter(({ id }) => (id ?? 0) > last).map(({ id }) => id),
  );
  assert.equal((await readEvents(here.project, 'run.completed')).length, 1);
});

/** Stops the second server while a call that must not be repeated runs there; its turn goes on at the first. */
async function stopDuringCall(t: TestContext) {
  const leaving = await startSecond(t);
  const smith = await smithOn(leaving);
  const here = onServer(firstServer, smith);
  const runId = await smith.begin('Call the tool careful with {}');
  await eventually(() => tools.callsOf(runId)[0], 'the call runs');
  await leaving.close();
  return { here, runId };
}

test('a call that must not be repeated is not; the model is told that its outcome is unknown', async (t) => {
  const { here, runId } = await stopDuringCall(t);
  const run = await here.settled(runId);
  assert.equal(run.status, 'completed');
  assert.match(run.output.content, /careful failed: .*outcome is unknown/);
  assert.equal(tools.callsOf(runId).length, 1);
  assert.equal(run.output.tool_calls[0].status, 'failed');
});

test('a turn whose server stops in order has no abrupt end counted against it', async (t) => {
  const { here, runId } = await stopDuringCall(t);
  assert.equal((await here.settled(runId)).status, 'completed');
  const { rows } = await firstServer.db.query({
    text: 'select attempt, interrupted_by from runs where id = $1',
    values: [runId],
  });
  assert.deepEqual(rows, [{ attempt: 2, interrupted_by: null }]);
});

test('a model call that is cut off is made again, and paid for once', async (t) => {
  const leaving = await startSecond(t);
  const smith = await makeUpstreamSmith(leaving, upstream);
  const here = onServer(firstServer, smith);
  upstream.respondWith([
    { ...says('Half', ' of', ' it'), fault: { afterChunks: 2, type: 'hang' } },
    { ...says('All', ' of', ' it'), usage: { promptTokens: 20, completionTokens: 3 } },
  ]);
  const frames = openFrames(await smith.stream('Hello'));
  const seen = await framesUntil(frames, (frame) => frame.data.data.text?.endsWith(' of'));
  const cut = upstream.requests.at(-1);
  const runId = seen[0]?.data.run_id;
  await leaving.close();
  assert.equal(await cut?.closed, 'client');
  const run = await here.settled(runId);
  assert.deepEqual([run.status, run.output.content], ['completed', 'All of it']);
  assert.deepEqual([run.usage.input_tokens, run.usage.output_tokens], [20, 3]);
  const rest = await collectFrames(await here.events(runId, seen.at(-1)?.id));
  assert.equal(assemble([...seen, ...rest]).text, 'All of it');
});

test('whoever has lost a turn writes nothing more of it', async () => {
  const smith = await makeUpstreamSmith(firstServer, upstream);
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  upstream.respondWith([{ ...says('Late', ' words'), held }, says('In time')]);
  const arrived = upstream.waitForRequests(upstream.requests.length + 1);
  const runId = await smith.begin('Hello');
  await arrived;
  // Another replica, which is alive, has taken it over.
  await firstServer.db.query({
    text: `insert into replicas (id, heartbeat_at) values ('rep_other', now() + interval '1 hour')`,
  });
  await setRun(runId, `replica_id = 'rep_other', attempt = attempt + 1`);
  release();
  await eventually(() => (firstServer.platform.engine.findLive(runId) === undefined ? true : undefined), 'it gives up');
  assert.equal((await smith.get(runId)).status, 'in_progress');
  assert.deepEqual(
    [await countRows('messages', runId), await countRows('run_steps', runId), await countRows('run_events', runId)],
    [1, 0, 1],
  );
  assert.deepEqual(await readEvents(smith.project, 'run.completed'), []);

  await firstServer.db.query({ text: `delete from replicas where id = 'rep_other'` });
  await lookForOrphans();
  const run = await smith.settled(runId);
  assert.deepEqual([run.status, run.output.content], ['completed', 'In time']);
});

test('a server that takes over a turn that it is still executing itself goes on once', async () => {
  const smith = await smithOn(firstServer);
  const runId = await smith.begin('Call the tool gate with {}');
  await eventually(() => tools.callsOf(runId)[0], 'the call runs');
  await setRun(runId, 'replica_id = null');
  await eventually(() => (tools.callsOf(runId).length === 2 ? true : undefined), 'it is taken over');
  assert.equal(tools.callsOf(runId)[0]?.signal.aborted, true);
  tools.open(runId);
  const run = await smith.settled(runId);
  assert.equal(run.status, 'completed');
  const frames = await collectFrames(await smith.events(runId));
  assert.equal(assemble(frames).text, run.output.content);
  assert.equal(frames.filter(isType('tool.completed')).length, 1);
  assert.equal((await readEvents(smith.project, 'run.completed')).length, 1);
  assert.equal((await smith.ask('Again')).body.status, 'completed');
});

test('a turn whose tools are gone when it is taken over ends with an error and frees its smith', async (t) => {
  const leaving = await startSecond(t);
  const smith = await smithOn(leaving, { enabled_hosted_tools: ['current_time'] });
  const here = onServer(firstServer, smith);
  const runId = await smith.begin('Call the tool gate with {}');
  await eventually(() => tools.callsOf(runId)[0], 'the call runs');
  fragile.broken = true;
  await leaving.close();
  const run = await here.settled(runId);
  fragile.broken = false;
  assert.deepEqual([run.status, run.error.code], ['failed', 'run_failed']);
  assert.equal((await here.ask('Again')).body.status, 'completed');
});

test('a paused turn is answered on another server than the one that paused it', async (t) => {
  const leaving = await startSecond(t);
  const smith = await smithOn(leaving);
  const { body: paused } = await smith.ask('Call the tool look_up with {}', { tools: [clientTool('look_up')] });
  await leaving.close();
  const here = onServer(firstServer, smith);
  const { body } = await here.submit(paused.id, {
    kind: 'tool_result',
    tool_call_id: paused.output.tool_calls[0].id,
    result: { n: 1 },
  });
  assert.equal(body.output.content, 'The tool look_up returned: {"n":1}');
});

test('cancelling a run on another server ends its upstream request, and a reader there is shown all that was said', async (t) => {
  const second = await startSecond(t);
  const smith = await makeUpstreamSmith(second, upstream);
  const here = onServer(firstServer, smith);
  upstream.respondWith({ ...says('So', ' far'), fault: { afterChunks: 2, type: 'hang' } });
  const frames = openFrames(await smith.stream('Hello'));
  const seen = await framesUntil(frames, (frame) => frame.data.data.text?.endsWith(' far'));
  const runId = seen[0]?.data.run_id;
  const reader = collectFrames(await here.events(runId));
  const { status } = await here.cancel(runId);
  assert.equal(status, 200);
  assert.equal(await upstream.requests.at(-1)?.closed, 'client');
  const whole = await reader;
  assert.equal(assemble(whole).text, 'So far');
  assert.equal(whole.at(-1)?.event, 'run.cancelled');
  const run = await here.get(runId);
  assert.deepEqual([run.status, run.output.content, run.usage.output_tokens], ['cancelled', 'So far', 2]);
});

test('a server that drains keeps its turns to itself as long as it finishes them', async (t) => {
  const leaving = await startSecond(t);
  const smith = await smithOn(leaving);
  const here = onServer(firstServer, smith);
  const runId = await smith.begin('Call the tool gate with {}');
  await eventually(() => tools.callsOf(runId)[0], 'the call runs');
  const drained = leaving.platform.drain(DRAIN_TIMEOUT_MS);
  const refused = await smith.ask('Another');
  assert.deepEqual([refused.status, refused.body.error.code], [503, 'service_overloaded']);
  const readBeat = async () => {
    const { rows } = await firstServer.db.query<{ heartbeat_at: Date }>({
      text: 'select heartbeat_at from replicas where id = $1',
      values: [leaving.platform.engine.replicaId],
    });
    return rows[0]?.heartbeat_at.getTime() ?? 0;
  };
  const beat = await readBeat();
  await eventually(async () => ((await readBeat()) > beat ? true : undefined), 'it beats on');
  await eventually(async () => ((await readBeat()) > beat + 1_500 ? true : undefined), 'and on');
  tools.open(runId);
  await drained;
  const run = await here.get(runId);
  assert.equal(run.status, 'completed');
  const frames = await collectFrames(await here.events(runId));
  assert.equal(frames.filter(isType('run.restarted')).length, 0);
  await leaving.close();
});

test('what a turn runs with is fixed when it starts, also for the server that takes it over', async (t) => {
  const leaving = await startSecond(t);
  const smith = await makeUpstreamSmith(leaving, upstream, { instructions: 'Old rules.' });
  const here = onServer(firstServer, smith);
  upstream.respondWith([{ type: 'answer', toolCalls: [{ name: 'gate', arguments: '{}' }] }, says('Done'), says('New')]);
  const runId = await smith.begin('Hello');
  await eventually(() => tools.callsOf(runId)[0], 'the call runs');
  await here.project.patch(`/v1/smiths/${smith.id}`, { instructions: 'New rules.' });
  await leaving.close();
  tools.open(runId);
  const run = await here.settled(runId);
  assert.equal(run.output.content, 'Done');
  assert.equal(sentTexts(upstream)[0], 'system: Old rules.');
  await here.ask('Next');
  assert.equal(sentTexts(upstream)[0], 'system: New rules.');
});
