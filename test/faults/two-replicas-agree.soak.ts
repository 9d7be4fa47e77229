/** Two server processes on one PostgreSQL: whatever is done at one holds at the other, at once. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ServerProcess } from '../boot/server-process.ts';
import type { OpenAiUpstream } from '../fakes/openai-upstream.ts';
import { askMessage, initialize, messageOf, publishMcp, sendLegacy } from '../support/mcp-deployment.ts';
import { collectFrames, type Frame, readFrames, textOf } from '../support/read-frames.ts';
import {
  assemble,
  eventually,
  FAKE_MODEL,
  framesUntil,
  isType,
  openFrames,
  question,
  readOn,
  smithOf,
  type TestSmith,
} from '../support/turns.ts';
import {
  assertEndsInOrder,
  beginDraining,
  DRAIN_ON_REQUEST,
  type Fleet,
  NEEDS_SERVER,
  passDrainTime,
} from './fleet.ts';
import { type ReplicaPair, startReplicaPair } from './replica-pair.ts';

const DELTAS = Array.from({ length: 120 }, (_, index) => `v${index} `);

describe('two replicas on one PostgreSQL', { skip: NEEDS_SERVER }, () => {
  const cleanups: (() => Promise<void>)[] = [];
  let fleet: Fleet;
  let upstream: OpenAiUpstream;
  let a: ServerProcess;
  let makeSmith: ReplicaPair['makeSmith'];
  let b: ServerProcess;

  before(async () => {
    const t = { after: (work: () => Promise<void>) => void cleanups.push(work) };
    ({ fleet, upstream, a, b, makeSmith } = await startReplicaPair(t));
  });
  after(async () => {
    for (const work of cleanups) await work();
  });

  test('a run that was started on one replica streams on the other while it goes on, every character once and in order', async () => {
    const { onA, onB } = await makeSmith({ model: FAKE_MODEL });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    upstream.respondWith({ type: 'answer', deltas: DELTAS, holdAt: (chunks) => (chunks < 60 ? undefined : released) });
    try {
      const runId = await onA.begin('Hello');
      const frames = openFrames(await onB.events(runId));
      const seen = await framesUntil(frames, isType('message.delta'));
      assert.equal((await onB.get(runId)).status, 'in_progress', 'the first words arrive before the run ends');
      release();
      seen.push(...(await framesUntil(frames, isType('run.completed'))));
      assert.equal((await frames.next()).done, true);
      assert.equal(assemble(seen).text, DELTAS.join(''));
      assert.equal((await onB.get(runId)).output.content, DELTAS.join(''));
    } finally {
      release();
    }
  });

  test('readers that come and go on the other replica get exactly the rest, from every frame', async () => {
    const { onA, onB } = await makeSmith({ model: FAKE_MODEL });
    // The answer goes on once what was sent before has been read, so that it has as many frames on every machine.
    const passed = DELTAS.map(() => Promise.withResolvers<void>());
    const isHeld = (chunks: number) => chunks > 0 && chunks < DELTAS.length && chunks % 30 === 0;
    upstream.respondWith({
      type: 'answer',
      deltas: DELTAS,
      holdAt: (chunks) => (isHeld(chunks) ? passed[chunks]?.promise : undefined),
    });
    const live: Frame[] = [];
    const readers: { cut: number; rest: Promise<Frame[]> }[] = [];
    for await (const frame of readFrames(await onA.stream('Hello'))) {
      live.push(frame);
      const words = textOf(live).split(' ').length - 1;
      // Behind the last frame there is nothing to read.
      if (!isHeld(words) || frame.id === undefined || !isType('message.delta')(frame)) continue;
      readers.push({ cut: frame.id, rest: onB.events(frame.data.run_id, frame.id).then(collectFrames) });
      passed[words]?.resolve();
    }
    assert.equal(readers.length, 3);
    for (const { cut, rest } of readers) {
      const frames = await rest;
      assemble(frames);
      assert.ok(frames.every(({ id = 0 }) => id > cut));
      assert.equal(textOf(frames), textOf(live.filter(({ id = 0 }) => id > cut)));
      assert.equal(frames.at(-1)?.event, 'run.completed');
    }
  });

  test('a cancel on the other replica closes the socket to the model and keeps what was said', async () => {
    const { onA, onB } = await makeSmith({ model: FAKE_MODEL });
    upstream.respondWith({ type: 'answer', deltas: DELTAS, fault: { afterChunks: 20, type: 'hang' } });
    const frames = openFrames(await onA.stream('Hello'));
    const seen = await framesUntil(frames, isType('message.delta'));
    const runId: string = seen[0]?.data.run_id;
    const { closed } = upstream.requests.at(-1) ?? assert.fail('the model was not called');
    const cancelled = await onB.cancel(runId);
    assert.deepEqual([cancelled.status, cancelled.body], [200, { id: runId, status: 'cancelled' }]);
    assert.equal(await closed, 'client');
    const run = await onB.get(runId);
    assert.deepEqual([run.status, run.stop_reason], ['cancelled', 'cancelled']);
    seen.push(...(await framesUntil(frames, isType('run.cancelled'))));
    // On a machine that is busy elsewhere the replica may not answer in its time, and is overruled.
    if (run.output === null) return;
    assert.match(run.output.content, /^v0 /);
    assert.equal(assemble(seen).text, run.output.content);
    assert.ok(run.usage.output_tokens > 0, 'what was said is paid for');
  });

  test('a cancel on the other replica stops a run whose model has not answered yet', async () => {
    const { onA, onB } = await makeSmith({ model: FAKE_MODEL });
    upstream.respondWith({ type: 'hang_before_headers' });
    const before = upstream.requests.length;
    const runId = await onA.begin('Hello');
    await upstream.waitForRequests(before + 1);
    assert.equal((await onB.cancel(runId)).status, 200);
    assert.equal(await upstream.requests.at(-1)?.closed, 'client');
    assert.equal((await onA.get(runId)).status, 'cancelled');
    // The smith is free again.
    upstream.respondWith({ type: 'answer', deltas: ['Hello'] });
    assert.equal((await onB.ask('Hello')).body.status, 'completed');
  });

  test('a run that was paused on one is answered on the other, which goes on with it', async () => {
    const { onA, onB } = await makeSmith();
    const tools = [{ name: 'look_up', parameters: { type: 'object', properties: {} } }];
    const paused = await onA.ask('Call the tool look_up with {}', { tools });
    assert.equal(paused.body.status, 'paused');
    const [call] = paused.body.output.tool_calls;
    const submit = { kind: 'tool_result', tool_call_id: call.id, result: { found: 'the north bridge' } };
    const both = await Promise.all([onA.submit(paused.body.id, submit), onB.submit(paused.body.id, submit)]);
    assert.deepEqual(both.map(({ status }) => status === 200).sort(), [false, true], 'an answer counts once');
    const run = await onA.settled(paused.body.id);
    assert.equal(run.status, 'completed');
    assert.match(run.output.content, /the north bridge/);
  });

  test('a smith has one turn at a time, whichever replica is asked', async () => {
    const { onA, onB } = await makeSmith({ model: FAKE_MODEL });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    upstream.respondWith({ type: 'answer', deltas: DELTAS, holdAt: (chunks) => (chunks === 1 ? released : undefined) });
    let refused = 0;
    const answers = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const answer = await (index % 2 === 0 ? onA : onB).ask('Hello');
        if (answer.status === 400) refused += 1;
        // The one that has the turn keeps it until the others have been refused.
        if (refused === 7 || answer.status !== 400) release();
        return answer;
      }),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 400, 400, 400, 400, 400, 400, 400]);
    for (const { status, body } of answers) if (status === 400) assert.equal(body.error.code, 'conversation_locked');
  });

  test('a token that is revoked on one is refused on the other at once', async () => {
    const [onA, onB] = [fleet.project(a), fleet.project(b)];
    const minted = await onA.post('/v1/tenant/tokens', { scope: 'admin' });
    const guest = onB.as(minted.body.token);
    for (let request = 0; request < 3; request += 1) assert.equal((await guest.get('/v1/smiths')).status, 200);
    assert.equal((await onA.delete(`/v1/tenant/tokens/${minted.body.id}`)).status, 204);
    const refused = await guest.get('/v1/smiths');
    assert.deepEqual([refused.status, refused.body.error.code], [401, 'unauthenticated']);
  });

  test('an idempotency key that is used on both at once starts one run', async () => {
    for (let round = 0; round < 3; round += 1) {
      const { onA, onB } = await makeSmith();
      const headers = { 'idempotency-key': `both-${round}` };
      const ask = (smith: TestSmith) => smith.ask('Write 5 words', {}, headers);
      const answers = await Promise.all([onA, onB, onA, onB].map(ask));
      const { data } = (await onA.project.get(onA.runs)).body;
      assert.equal(data.length, 1);
      for (const { status, body, text } of answers) {
        if (status === 201) assert.equal(body.id, data[0].id);
        else assert.deepEqual([status, body.error.code], [409, 'idempotency_in_progress'], text);
      }
      assert.ok(answers.some(({ status }) => status === 201));
    }
  });

  test('a streamed create that is repeated on the other gets the pointer to the run and starts none', async () => {
    const { onA, onB } = await makeSmith();
    const body = { ...question('Write 60 words at 60 words per second'), stream: true };
    const headers = { 'idempotency-key': 'streamed' };
    const first = openFrames(await onA.project.open('POST', onA.runs, body, headers));
    const [started] = await framesUntil(first, isType('run.started'));
    const [pointer, ...others] = await collectFrames(await onB.project.open('POST', onB.runs, body, headers));
    assert.deepEqual(others, []);
    assert.equal(pointer?.event, 'run.duplicate');
    assert.equal(pointer?.data.run_id, started?.data.run_id);
    const followed = await collectFrames(await onB.project.open('GET', pointer?.data.events));
    assert.equal(assemble(followed).text, (await onA.settled(started?.data.run_id)).output.content);
  });

  test('forty creates of one external id over both make one smith and one event', async () => {
    const [onA, onB] = [fleet.project(a), fleet.project(b)];
    const create = (_: unknown, index: number) =>
      (index % 2 === 0 ? onA : onB).post('/v1/smiths', { external_id: 'raced', model: 'builtin/demo' });
    const answers = await Promise.all(Array.from({ length: 40 }, create));
    assert.deepEqual([...new Set(answers.map(({ body }) => body.id))].length, 1);
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    assert.equal(answers.filter(({ status }) => status === 200).length, 39);
    const events = await onB.get(`/v1/events?type=smith.created&smith_id=${answers[0]?.body.id}`);
    assert.equal(events.body.data.length, 1);
  });

  test('a signing key that is rotated beside them signs new tokens, which both take at once, and breaks no earlier one', async () => {
    const minted = await fleet.project(a).post('/v1/tenant/tokens', { scope: 'admin' });
    const rotated = await fleet.runVerb('keys', 'rotate');
    assert.equal(rotated.code, 0, rotated.stderr);
    const later = await fleet.runVerb('token', 'mint', '--json');
    const tokens: string[] = [minted.body.token, JSON.parse(later.stdout).token];
    assert.notEqual(keyOf(tokens[0]), keyOf(tokens[1]));
    for (const server of [a, b]) {
      const project = fleet.project(server);
      for (const token of tokens) assert.equal((await project.as(token).get('/v1/smiths')).status, 200);
      const published = await project.get('/.well-known/jwks.json');
      const kids = published.body.keys.map(({ kid }: { kid: string }) => kid);
      for (const token of tokens) assert.ok(kids.includes(keyOf(token)));
    }
  });

  test('a session of an MCP deployment goes on at the other, which cancels what the first was asked, and has its replies', async () => {
    const { onA, onB } = await makeSmith();
    const { path } = await publishMcp(onA.project, { type: 'smith', id: onA.id });
    const headers = { 'mcp-session-id': await initialize(onA.project, path) };
    const asked = sendLegacy(onA.project, path, askMessage(1, 'Write 1000 words at 20 words per second'), headers);
    await eventually(async () => {
      const { body } = await onB.project.get(`/v1/smiths/${onB.id}/runs`);
      return body.data[0]?.status === 'in_progress' ? true : undefined;
    }, 'the turn has begun');
    const cancel = { method: 'notifications/cancelled', params: { requestId: 1 } };
    assert.equal((await sendLegacy(onB.project, path, cancel, headers)).status, 202);
    const ended = messageOf(await asked).result;
    assert.deepEqual([ended.isError, ended.structuredContent.status], [true, 'cancelled']);
    const { run_id } = messageOf(await sendLegacy(onA.project, path, askMessage(2, 'Write 3 words'), headers)).result
      .structuredContent;
    const get = { id: 3, method: 'tools/call', params: { name: 'get_reply', arguments: { run_id } } };
    const reply = messageOf(await sendLegacy(onB.project, path, get, headers)).result;
    assert.deepEqual([reply.structuredContent.status, reply.content[0].text.split(' ').length], ['completed', 3]);
  });

  test('a replica that freezes loses its turns, and writes nothing more when it thaws', async () => {
    const { onA, onB } = await makeSmith();
    const stream = openFrames(await onA.stream('Write 120 words at 60 words per second'));
    const seenOnA = await framesUntil(stream, isType('message.delta'));
    const runId: string = seenOnA[0]?.data.run_id;
    a.kill('SIGSTOP');
    try {
      const onOther = openFrames(await onB.events(runId));
      const seenOnB = await framesUntil(onOther, isType('run.restarted'));
      // It thaws while the other is at work, and is through with its own answer long before the other.
      a.kill('SIGCONT');
      seenOnB.push(...(await framesUntil(onOther, isType('run.completed'))));
      assert.equal(assemble(seenOnB).text, (await onB.get(runId)).output.content);
    } finally {
      a.kill('SIGCONT');
    }
    const run = await onB.get(runId);
    // Its own reader sees what the other made of the run.
    seenOnA.push(...(await framesUntil(stream, isType('run.completed'))));
    assert.equal(assemble(seenOnA).text, run.output.content);
    const again = await onA.ask('Write 3 words');
    assert.equal(again.body.status, 'completed', 'the thawed replica serves on');
    await assertBookedOnce(runId);
    const stored = await collectFrames(await onA.events(runId));
    assert.equal(stored.filter(isType('run.completed')).length, 1);
    assert.equal(assemble(stored).text, run.output.content);
  });

  test('a draining replica keeps the leases of its turns, ends those that end in its time, and hands on the rest: no reader misses a character', async () => {
    const before = await countReplicas();
    const third = await fleet.start(DRAIN_ON_REQUEST);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    try {
      const [short, long] = [await makeSmith({ model: FAKE_MODEL }), await makeSmith({ model: FAKE_MODEL })];
      upstream.respondWith({
        type: 'answer',
        deltas: DELTAS,
        holdAt: (chunks) => (chunks === 20 ? released : undefined),
      });
      const shortId = await smithOf(fleet.project(third), short.onA.id).begin('Hello');
      const shortFrames = openFrames(await short.onB.events(shortId));
      await framesUntil(shortFrames, isType('message.delta'));
      upstream.respondWith([
        { type: 'answer', deltas: DELTAS, fault: { afterChunks: 15, type: 'hang' } },
        { type: 'answer', deltas: DELTAS },
      ]);
      const reader = readFrames(await smithOf(fleet.project(third), long.onA.id).stream('Hello'));
      const seen = await framesUntil(reader, ({ data }) => data.data?.text?.includes('v12') === true);
      const runId: string = seen[0]?.data.run_id;
      const remote = openFrames(await long.onB.events(runId));

      // Nobody can take the turns of a replica that a busy machine holds up.
      for (const other of [a, b]) other.kill('SIGSTOP');
      await beginDraining(third);
      for (let beats = 0; beats < 3; beats += 1) {
        const last = await lastBeatOf(shortId);
        await eventually(async () => (await lastBeatOf(shortId)) > last || undefined, 'it beats while it drains');
      }
      release();
      await eventually(async () => (await statusOf(shortId)) === 'completed' || undefined, 'a turn ends in its time');
      const reading = readOn(reader, seen);
      passDrainTime(third);
      await assertEndsInOrder(third);
      await reading;
      for (const other of [a, b]) other.kill('SIGCONT');

      assert.equal((await short.onB.get(shortId)).output.content, DELTAS.join(''));
      assert.ok(!(await collectFrames(await short.onB.events(shortId))).some(isType('run.restarted')));
      assert.ok(!seen.some(isType('run.restarted')));
      const detached = seen.at(-1);
      assert.equal(detached?.event, 'stream.detached');
      assert.equal(detached?.data.resume, `${long.onB.runs}/${runId}/events`);
      const numbered = seen.filter(({ id }) => id !== undefined);
      const rest = await collectFrames(await long.onB.events(runId, numbered.at(-1)?.id));
      const run = await long.onB.get(runId);
      assert.deepEqual([run.status, run.output.content], ['completed', DELTAS.join('')]);
      const whole = [...numbered, ...rest];
      assert.equal(whole.filter(isType('run.restarted')).length, 1);
      assert.equal(assemble(whole).text, DELTAS.join(''), 'a reader that moves to the other');
      assert.equal(
        assemble(await framesUntil(remote, isType('run.completed'))).text,
        DELTAS.join(''),
        'one that was there',
      );
      await assertBookedOnce(runId);
      await eventually(async () => (await countReplicas()) <= before || undefined, 'the drained replica is gone');
    } finally {
      release();
      for (const other of [a, b]) other.kill('SIGCONT');
      third.kill('SIGKILL');
      await third.ended;
    }
  });

  /** Of the replica that has the run. */
  async function lastBeatOf(runId: string): Promise<Date> {
    const { rows } = await database().query<{ heartbeat_at: Date }>({
      text: 'select p.heartbeat_at from runs r join replicas p on p.id = r.replica_id where r.id = $1',
      values: [runId],
    });
    return rows[0]?.heartbeat_at ?? assert.fail('no replica has the run');
  }

  async function statusOf(runId: string): Promise<string | undefined> {
    const { rows } = await database().query<{ status: string }>({
      text: 'select status from runs where id = $1',
      values: [runId],
    });
    return rows[0]?.status;
  }

  async function countReplicas(): Promise<number> {
    const { rows } = await database().query<{ count: number }>({ text: 'select count(*)::int as count from replicas' });
    return rows[0]?.count ?? 0;
  }

  /** The totals are the sum of the steps, and the answer is one step. */
  async function assertBookedOnce(runId: string): Promise<void> {
    const { rows } = await database().query<{ steps: number; output: number; total: number }>({
      text: `
        select count(*)::int as steps, sum(s.output_tokens)::int as output, r.output_tokens::int as total
        from run_steps s join runs r on r.project_id = s.project_id and r.id = s.run_id
        where s.run_id = $1 group by r.project_id, r.id`,
      values: [runId],
    });
    assert.equal(rows.length, 1);
    assert.deepEqual(rows[0], { steps: 1, output: rows[0]?.total, total: rows[0]?.total });
  }

  function database() {
    return fleet.db ?? assert.fail('the fleet has no database of its own');
  }
});

/** The header of a JWT names the key that signed it. */
function keyOf(token = ''): string {
  const [header = ''] = token.replace(/^[a-z]+_live_/, '').split('.');
  return JSON.parse(Buffer.from(header, 'base64url').toString()).kid;
}
