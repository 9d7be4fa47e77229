import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeOnEachStore } from '../../../../test/support/database.ts';
import { createRunSignals, type RunSignals } from './run-signals.ts';

const TIMEOUT_MS = 60_000;
const HANDLERS = { onCancel: () => {}, onOrphans: () => {}, onActive: () => {}, onHandOver: () => {} };

describeOnEachStore('changes of runs', {}, (current) => {
  async function start(): Promise<RunSignals> {
    const signals = createRunSignals(current().db, (error) => assert.fail(String(error)));
    await signals.start(HANDLERS);
    return signals;
  }

  /** Resolves when there is a change; rejects when none comes. */
  async function hear(signals: RunSignals, runId: string): Promise<void> {
    const watch = signals.watch(runId);
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    await watch.next(2 * TIMEOUT_MS, timeout);
    watch.close();
    assert.ok(!timeout.aborted, `no change of ${runId}`);
  }

  test('a change of a run wakes whoever waits for it, when 450 come at once and the last just before the stop', async () => {
    const here = await start();
    // The embedded store has no other replica.
    const there = current().db.kind === 'embedded' ? here : await start();
    const runs = Array.from({ length: 450 }, (_, index) => `run_${String(index).padStart(26, '0')}`);
    const heard = Promise.all(runs.map((run) => hear(there, run)));
    for (const run of runs.slice(0, -1)) here.announce([run]);
    here.announce(runs.slice(-1));
    await here.stop();
    await heard;
    await there.stop();
  });
});
