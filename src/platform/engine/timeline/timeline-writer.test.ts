/** With the clock of the test, and a store that notes what it is told. */
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createCountedClock } from '../../../../test/support/counted-clock.ts';
import { runWithClock } from '../../../kernel/clock/clock.ts';
import { LiveTurn } from './live-turn.ts';
import { createTimelineWriter, FLUSH_INTERVAL_MS } from './timeline-writer.ts';

const key = { projectId: 'proj_1', smithId: 'smt_1', threadId: 'thr_1', runId: 'run_1', turn: 1, attempt: 1 };

/** A writer that has started, with one live turn. */
function startWriter() {
  const clock = createCountedClock();
  const context = new AsyncLocalStorage<string>();
  const writes: { readonly rows: number; readonly context: string | undefined }[] = [];
  const failures: Error[] = [];
  const announced: string[] = [];
  const live: LiveTurn[] = [];
  const writer = runWithClock(clock, () => {
    const made = createTimelineWriter({
      db: {
        async query(statement) {
          const failure = failures.shift();
          if (failure !== undefined) throw failure;
          const [rows] = statement.values ?? [];
          writes.push({
            rows: JSON.parse(String(rows)).length,
            context: context.getStore(),
          });
          return { rows: [], rowCount: 0 };
        },
      },
      signals: { announce: (runIds) => void announced.push(...runIds) },
      logger: { warn: () => undefined },
      liveTurns: () => live,
    });
    made.start();
    return made;
  });
  const turn = new LiveTurn(key, 0, writer.wake);
  live.push(turn);
  return {
    writer,
    turn,
    writes,
    failures,
    context,
    countArmed: clock.countTimers,
    async pass(ms: number) {
      clock.advance(ms);
      for (let turns = 0; turns < 5; turns += 1) await nextTurn();
    },
  };
}

test('a writer whose turns have no frames has no timer', async () => {
  const { countArmed, pass, writes } = startWriter();
  assert.equal(countArmed(), 0);
  await pass(60_000);
  assert.equal(countArmed(), 0);
  assert.deepEqual(writes, []);
});

test('the first unflushed frame sets the timer, and a writer that has flushed all has none', async () => {
  const { turn, countArmed, pass, writes } = startWriter();
  turn.emit('run.started', {});
  turn.emitText('message.delta', 'a', 0);
  assert.equal(countArmed(), 1);
  await pass(FLUSH_INTERVAL_MS - 1);
  assert.equal(writes.length, 0);
  await pass(1);
  assert.deepEqual(
    writes.map(({ rows }) => rows),
    [2],
  );
  assert.equal(countArmed(), 0);
  turn.emitText('message.delta', 'b', 0);
  await pass(FLUSH_INTERVAL_MS);
  assert.equal(writes.length, 2);
  assert.equal(countArmed(), 0);
});

test('frames that could not be written are written by the next flush', async () => {
  const { turn, countArmed, pass, writes, failures } = startWriter();
  failures.push(new Error('away'));
  turn.emit('run.started', {});
  await pass(FLUSH_INTERVAL_MS);
  assert.equal(writes.length, 0);
  assert.equal(countArmed(), 1);
  await pass(FLUSH_INTERVAL_MS);
  assert.equal(writes.length, 1);
  assert.equal(countArmed(), 0);
});

test('frames that a step gives back are written by the next flush', async () => {
  const { turn, pass, writes } = startWriter();
  turn.emit('run.started', {});
  const { putBack } = turn.takePending([]);
  await pass(FLUSH_INTERVAL_MS);
  assert.equal(writes.length, 0);
  putBack();
  await pass(FLUSH_INTERVAL_MS);
  assert.equal(writes.length, 1);
});

test('frames of a turn whose start is not stored yet are written once it is', async () => {
  const { turn, countArmed, pass, writes } = startWriter();
  turn.starting = Promise.resolve();
  turn.emit('run.started', {});
  await pass(FLUSH_INTERVAL_MS);
  assert.equal(writes.length, 0);
  assert.equal(countArmed(), 1);
  turn.starting = undefined;
  await pass(FLUSH_INTERVAL_MS);
  assert.equal(writes.length, 1);
});

test('a flush does not run in the async context of the frame that set the timer', async () => {
  const { turn, context, pass, writes } = startWriter();
  context.run('a transaction', () => turn.emit('run.started', {}));
  await pass(FLUSH_INTERVAL_MS);
  assert.deepEqual(writes, [{ rows: 1, context: undefined }]);
});

test('a writer that stops flushes at once and sets no more timers', async () => {
  const { writer, turn, countArmed, writes } = startWriter();
  turn.emit('run.started', {});
  await writer.stop();
  assert.equal(writes.length, 1);
  turn.emitText('message.delta', 'a', 0);
  assert.equal(countArmed(), 0);
});
