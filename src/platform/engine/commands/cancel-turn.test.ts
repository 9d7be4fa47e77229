import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { makeForeignRun } from '../../../../test/support/foreign-runs.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { Engine } from '../engine.ts';
import type { RunSignals } from '../timeline/run-signals.ts';
import { cancelTurn, GRACE_MS } from './cancel-turn.ts';

const platform = await startPlatform();
const { db } = platform;
const { engine } = platform.platform;
after(() => platform.close());

test('cancelling a run keeps what its replica says last when another change of the run comes before the end', async (t) => {
  const { promise: looked, resolve: noteLook } = Promise.withResolvers<void>();
  const watched: Database = {
    ...db,
    async query(statement) {
      const answer = await db.query(statement);
      if (statement.text.startsWith('select status from runs')) noteLook();
      return answer as never;
    },
    transaction: (work) => db.transaction(work),
    notify: (channel, payload) => db.notify(channel, payload),
  };
  const { smith, key } = await makeForeignRun(platform, t, async (id) => {
    // Its last words, as the timeline's batch brings them.
    await db.notify('run_changes', id);
    await looked;
    const output = { content: 'so far', content_type: 'text/plain', tool_calls: [], suggested_replies: [] };
    await db.query({
      text: `update runs set status = 'cancelled', output = $2 where id = $1 and status = 'in_progress'`,
      values: [id, JSON.stringify(output)],
    });
    await db.notify('run_changes', id);
  });
  const patient: Engine = { ...engine, db: watched, cancelGraceMs: 60_000 };
  await cancelTurn(patient, key);
  const run = await smith.get(key.runId);
  assert.deepEqual([run.status, run.output?.content], ['cancelled', 'so far']);
});

test('cancelling a run overrules its replica when that one has not answered within 120 ms', async (t) => {
  const { smith, key } = await makeForeignRun(platform, t, async () => {});
  const waitsMs: number[] = [];
  const signals: RunSignals = {
    ...engine.signals,
    watch(runId) {
      const watch = engine.signals.watch(runId);
      return {
        next(timeoutMs, signal) {
          waitsMs.push(timeoutMs);
          return watch.next(timeoutMs, signal);
        },
        close: () => watch.close(),
      };
    },
  };
  await cancelTurn({ ...engine, signals }, key);
  assert.equal(waitsMs[0], 120);
  assert.equal(GRACE_MS, 120);
  // Each further wait is for what is left of the first.
  assert.ok(
    waitsMs.every((ms, index) => index === 0 || ms < (waitsMs[index - 1] ?? 0)),
    waitsMs.join(', '),
  );
  assert.equal((await smith.get(key.runId)).status, 'cancelled');
  assert.equal((await smith.ask('Hello')).body.status, 'completed', 'the smith is free');
});
