/** With the clock of the test, and a store of one outbox. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createCountedClock } from '../../../../test/support/counted-clock.ts';
import { runWithClock } from '../../../kernel/clock/clock.ts';
import type { Statement } from '../../../kernel/db/database.ts';
import { createMetrics } from '../../../kernel/metrics/metrics.ts';
import { Sender, type SenderDependencies } from './sender.ts';

const EXTEND_EVERY_MS = 3_000;
const emptyOutbox = {
  project_id: 'proj_1',
  outbox_id: 'out_1',
  kind: 'telegram',
  account_id: '1',
  part: null,
  account_free_at: null,
  account_paced_to: null,
  planned: 1,
};

/** A sender whose store has one outbox to settle, and settles it when told. */
function createSender() {
  const clock = createCountedClock();
  const settled = Promise.withResolvers<void>();
  let outboxes: readonly object[] = [emptyOutbox];
  let extended = 0;
  const db = {
    async query({ text }: Statement) {
      if (text.includes('with recursive projects')) {
        const rows = outboxes;
        outboxes = [];
        return { rows, rowCount: rows.length };
      }
      if (text.includes('o.next_attempt_at > $3')) extended += 1;
      else await settled.promise;
      return { rows: [], rowCount: 0 };
    },
  };
  const deps = {
    db,
    channels: new Map(),
    metrics: createMetrics(),
    wake: () => undefined,
    now: () => clock.now(),
    logger: { warn: () => undefined },
  } as unknown as SenderDependencies;
  const sender = runWithClock(clock, () => new Sender(deps));
  return { clock, sender, settled, countExtended: () => extended };
}

const turns = async () => {
  for (let count = 0; count < 10; count += 1) await nextTurn();
};

test('a sender has a timer for leases only while something is being sent', async () => {
  const { clock, sender, settled, countExtended } = createSender();
  assert.equal(clock.countTimers(), 0);
  await sender.send(new AbortController().signal);
  assert.equal(clock.countTimers(), 1);
  await turns();
  clock.advance(2 * EXTEND_EVERY_MS);
  assert.equal(countExtended(), 2);
  settled.resolve();
  await turns();
  assert.equal(clock.countTimers(), 0);
  await sender.stop();
});

test('a sender that stops renews no more leases', async () => {
  const { clock, sender, settled } = createSender();
  await sender.send(new AbortController().signal);
  const stopped = sender.stop();
  assert.equal(clock.countTimers(), 0);
  settled.resolve();
  await stopped;
  assert.equal(clock.countTimers(), 0);
});
