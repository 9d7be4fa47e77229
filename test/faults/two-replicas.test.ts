/** Two server processes on one PostgreSQL: whatever is done at one holds at the other, at once. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ServerProcess } from '../boot/server-process.ts';
import { type OpenAiUpstream, startOpenAiUpstream } from '../fakes/openai-upstream.ts';
import { askMessage, initialize, messageOf, publishMcp, sendLegacy } from '../support/mcp-deployment.ts';
import type { TestProject } from '../support/platform.ts';
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
  useUpstream,
  withinMs,
} from '../support/turns.ts';
import { endsInOrder, type Fleet, NEEDS_SERVER, openFleet, openPatiently, patiently } from './fleet.ts';

const CANCEL_MS = 200;
/** So long has the replica that executes the run to stop it itself. */
const OVERRULED_MS = 120;
/** As documented: SIGTERM drains for this long. */
const DRAIN_MS = 10_000;
/** A replica that is silent for so long has lost its turns. */
const LEASE_MS = 5_000;

describe('two replicas on one PostgreSQL', { skip: NEEDS_SERVER }, () => {
  const cleanups: (() => Promise<void>)[] = [];
  let fleet: Fleet;
  let upstream: OpenAiUpstream;
  let a: ServerProcess;
  let b: ServerProcess;

  before(async () => {
    fleet = await openFleet({ after: (work) => void cleanups.push(work) }, { store: 'server', only: 'platform' });
    upstream = await startOpenAiUpstream();
    cleanups.push(() => upstream.close());
    a = await fleet.start();
    b = await fleet.start();
    await useUpstream(fleet.project(a), upstream);
  });
  after(async () => {
    for (const work of cleanups) await work();
  });

  /** Waits for a server that sheds load. */
  function patientProject(server: ServerProcess): TestProject {
    const project = fleet.project(server);
    return {
      ...project,
      get: (path, headers) => patiently(() => project.get(path, headers)),
      post: (path, body, headers) => patiently(() => project.post(path, body, headers)),
      open: (...request) => openPatiently(() => project.open(...request)),
    };
  }

  /** One smith, seen from both. */
  async function makeSmith(settings: Record<string, unknown> = {}): Promise<{ onA: TestSmith; onB: TestSmith }> {
    const id = await fleet.project(a).createSmith(settings);
    return { onA: smithOf(patientProject(a), id), onB: smithOf(patientProject(b), id) };
  }

  test('a run that was started on one streams on the other, live, every character once and in order', async () => {
    const { onA, onB } = await makeSmith();
    const runId = await onA.begin('Write 120 words at 20 words per second');
    const frames = openFrames(await onB.events(runId));
    const seen = await framesUntil(frames, isType('message.delta'));
    assert.equal((await onB.get(runId)).status, 'in_progress', 'the first words arrive before the run ends');
    seen.push(...(await framesUntil(frames, isType('run.completed'))));
    assert.equal((await frames.next()).done, true);
    const run = await onB.get(runId);
    assert.equal(run.output.content.split(' ').length, 120);
    assert.equal(assemble(seen).text, run.output.content);
    assert.ok(seen.filter(isType('message.delta')).length >= 4, 'in several pieces');
  });

  test('readers that come and go on the other get exactly the rest, from every frame', async () => {
    // How many frames a turn has depends on the machine: words that are due at the same moment travel together.
    let readers = 0;
    for (let turns = 0; readers < 3; turns += 1) {
      assert.ok(turns < 10, `${readers} readers in ${turns} turns`);
      readers += await readBeside();
    }
  });

  /** Returns how many have read beside one turn. */
  async function readBeside(): Promise<number> {
    const { onA, onB } = await makeSmith();
    const live: Frame[] = [];
    const readers: { cut: number; rest: Promise<Frame[]> }[] = [];
    for await (const frame of readFrames(await onA.stream('Write 150 words at 100 words per second'))) {
      live.push(frame);
      // Behind the last frame there is nothing to read.
      if (live.length % 15 !== 5 || frame.id === undefined || isType('run.completed')(frame)) continue;
      readers.push({ cut: frame.id, rest: onB.events(frame.data.run_id, frame.id).then(collectFrames) });
    }
    for (const { cut, rest } of readers) {
      const frames = await rest;
      assemble(frames);
      assert.ok(frames.every(({ id = 0 }) => id > cut));
      assert.equal(textOf(frames), textOf(live.filter(({ id = 0 }) => id > cut)));
      assert.equal(frames.at(-1)?.event, 'run.completed');
    }
    return readers.length;
  }

  test('a reader on the other hears of the end without waiting for the next look into the store', async () => {
    const { onA, onB } = await makeSmith();
    // A wake-up that is missed costs the two seconds until the reader looks by itself.
    await withinMs(1_500, async () => {
      const lateMs: number[] = [];
      for (let round = 0; round < 12; round += 1) {
        const runId = await onA.begin('Write 8 words at 40 words per second');
        const ended = onA.settled(runId).then(() => performance.now());
        const frames = await collectFrames(await onB.events(runId));
        assert.equal(frames.at(-1)?.event, 'run.completed');
        lateMs.push(performance.now() - (await ended));
      }
      return Math.max(...lateMs);
    });
  });

  test('a cancel on the other stops the run within 200 ms: the socket to the model closes, what was said is kept', async () => {
    const { onA, onB } = await makeSmith({ model: FAKE_MODEL });
    const deltas = Array.from({ length: 500 }, (_, index) => `w${index} `);
    upstream.respondWith({ type: 'answer', deltas, delayMs: 20 });
    const tookMs: { socket: number; answer: number }[] = [];
    let overruled = 0;
    for (let round = 0; round < 7; round += 1) {
      const frames = openFrames(await onA.stream('Hello'));
      const seen = await framesUntil(frames, isType('message.delta'));
      const runId: string = seen[0]?.data.run_id;
      const { closed } = upstream.requests.at(-1) ?? assert.fail('the model was not called');
      const startedMs = performance.now();
      const socketMs = closed.then((by) => {
        assert.equal(by, 'client');
        return performance.now() - startedMs;
      });
      const cancelled = await onB.cancel(runId);
      const answer = performance.now() - startedMs;
      assert.deepEqual([cancelled.status, cancelled.body], [200, { id: runId, status: 'cancelled' }]);
      tookMs.push({ socket: await socketMs, answer });
      const run = await onB.get(runId);
      assert.deepEqual([run.status, run.stop_reason], ['cancelled', 'cancelled']);
      seen.push(...(await framesUntil(frames, isType('run.cancelled'))));
      if (run.output === null) {
        // The machine was busy elsewhere: the replica did not answer in its time, and was overruled.
        assert.ok(answer >= OVERRULED_MS, `after ${answer} ms`);
        overruled += 1;
        continue;
      }
      assert.match(run.output.content, /^w0 /);
      assert.equal(assemble(seen).text, run.output.content);
      assert.ok(run.usage.output_tokens > 0, 'what was said is paid for');
    }
    assert.ok(overruled <= 3, `${overruled} of 7 were overruled`);
    for (const what of ['socket', 'answer'] as const) {
      const sorted = tookMs.map((took) => Math.round(took[what])).sort((x, y) => x - y);
      // The middle of the rounds: the machine of a test run is at times busy with another process.
      assert.ok((sorted[3] ?? Number.NaN) <= CANCEL_MS, `${what}: ${sorted} ms`);
    }
  });

  test('a cancel on the other stops a run whose model has not answered yet', async () => {
    await withinMs(1_000, async () => {
      const { onA, onB } = await makeSmith({ model: FAKE_MODEL });
      upstream.respondWith({ type: 'hang_before_headers' });
      const before = upstream.requests.length;
      const runId = await onA.begin('Hello');
      await upstream.waitForRequests(before + 1);
      const startedMs = performance.now();
      assert.equal((await onB.cancel(runId)).status, 200);
      assert.equal(await upstream.requests.at(-1)?.closed, 'client');
      const tookMs = performance.now() - startedMs;
      assert.equal((await onA.get(runId)).status, 'cancelled');
      // The smith is free again.
      upstream.respondWith({ type: 'answer', deltas: ['Hello'] });
      assert.equal((await onB.ask('Hello')).body.status, 'completed');
      return tookMs;
    });
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

  test('one turn a smith, whichever replica is asked', async () => {
    const { onA, onB } = await makeSmith();
    const texts = Array.from({ length: 8 }, (_, index) => `Write ${index + 20} words at 50 words per second`);
    const answers = await Promise.all(texts.map((text, index) => (index % 2 === 0 ? onA : onB).ask(text)));
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
    for (let round = 0; round < 8; round += 1) {
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

  test('a hundred creates of one external id over both make one smith and one event', async () => {
    const [onA, onB] = [fleet.project(a), fleet.project(b)];
    const create = (_: unknown, index: number) =>
      (index % 2 === 0 ? onA : onB).post('/v1/smiths', { external_id: 'raced', model: 'builtin/demo' });
    const answers = await Promise.all(Array.from({ length: 100 }, create));
    assert.deepEqual([...new Set(answers.map(({ body }) => body.id))].length, 1);
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    assert.equal(answers.filter(({ status }) => status === 200).length, 99);
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
    await withinMs(LEASE_MS + 5_000, freezeAndThaw);
  });

  /** Returns after how long the other has taken the turn over. */
  async function freezeAndThaw(): Promise<number> {
    const { onA, onB } = await makeSmith();
    const stream = openFrames(await onA.stream('Write 120 words at 60 words per second'));
    const seenOnA = await framesUntil(stream, isType('message.delta'));
    const runId: string = seenOnA[0]?.data.run_id;
    a.kill('SIGSTOP');
    let tookMs = Number.POSITIVE_INFINITY;
    try {
      const onOther = openFrames(await onB.events(runId));
      const startedMs = performance.now();
      const seenOnB = await framesUntil(onOther, isType('run.restarted'));
      tookMs = performance.now() - startedMs;
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
    return tookMs;
  }

  test('SIGTERM in the middle of turns: a short one ends here, a long one is handed on; nobody misses a character', async () => {
    await withinMs(DRAIN_MS, drainThird);
  });

  /** Returns how long it took. */
  async function drainThird(): Promise<number> {
    const before = await countReplicas();
    const third = await fleet.start();
    const short = await makeSmith();
    const long = await makeSmith({ model: FAKE_MODEL });
    const words = Array.from({ length: 40 }, (_, index) => `v${index} `);
    upstream.respondWith([
      { type: 'answer', deltas: words, fault: { afterChunks: 15, type: 'hang' } },
      { type: 'answer', deltas: words, delayMs: 25 },
    ]);
    // Longer than a lease, so that a draining replica must go on to beat.
    const shortSmith = smithOf(fleet.project(third), short.onA.id);
    const shortRun = await shortSmith.begin('Write 140 words at 20 words per second');
    const longSmith = smithOf(fleet.project(third), long.onA.id);
    const reader = readFrames(await longSmith.stream('Hello'));
    const seen = await framesUntil(reader, ({ data }) => data.data?.text?.includes('v12') === true);
    const runId: string = seen[0]?.data.run_id;
    const remote = openFrames(await long.onB.events(runId));

    const startedMs = performance.now();
    third.kill('SIGTERM');
    const reading = readOn(reader, seen);
    const isInOrder = await endsInOrder(third, [reading]);
    const drainedMs = performance.now() - startedMs;
    if (!isInOrder) return drainedMs;
    await reading;
    // It was taken for dead before it was told to drain: on a busy machine a beat may come too late.
    if (seen.some(isType('run.restarted'))) return Number.POSITIVE_INFINITY;
    const detached = seen.at(-1);
    assert.equal(detached?.event, 'stream.detached');
    assert.equal(detached?.data.resume, `${long.onB.runs}/${runId}/events`);

    const numbered = seen.filter(({ id }) => id !== undefined);
    const rest = await collectFrames(await long.onB.events(runId, numbered.at(-1)?.id));
    const run = await long.onB.get(runId);
    assert.deepEqual([run.status, run.output.content], ['completed', words.join('')]);
    const whole = [...numbered, ...rest];
    assert.equal(whole.filter(isType('run.restarted')).length, 1);
    assert.equal(assemble(whole).text, words.join(''), 'a reader that moves to the other');
    assert.equal(
      assemble(await framesUntil(remote, isType('run.completed'))).text,
      words.join(''),
      'one that was there',
    );
    await assertBookedOnce(runId);

    const ended = await short.onB.get(shortRun);
    assert.deepEqual([ended.status, ended.output.content.split(' ').length], ['completed', 140]);
    const timeline = await collectFrames(await short.onB.events(shortRun));
    assert.ok(!timeline.some(isType('run.restarted')), 'a draining replica keeps its lease');
    // One that ended at its deadline may still be among those of before.
    await eventually(async () => (await countReplicas()) <= before || undefined, 'the drained replica is gone');
    return drainedMs;
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
