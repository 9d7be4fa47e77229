import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { describeOnEachStore } from '../../../test/support/database.ts';
import { creditOf, makeWorkspace } from '../../../test/support/ledger-world.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { sqlStateOf } from '../../kernel/db/sql-errors.ts';
import { auditLedger, capture, credit, hold, holdCharge, readWallet, refundHeld, release } from './index.ts';
import { returnDisputed, takeDisputed } from './ledger.ts';

type Step =
  | { readonly act: 'credit'; readonly cents: number; readonly event: number }
  | { readonly act: 'takeDisputed' | 'returnDisputed'; readonly dispute: number }
  | { readonly act: 'hold' | 'holdCharge'; readonly cents: number; readonly order: number }
  | { readonly act: 'capture' | 'release' | 'refundHeld'; readonly order: number };

const cents = fc.integer({ min: 1, max: 2_000 });
const order = fc.integer({ min: 0, max: 5 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ act: fc.constant('credit' as const), cents, event: fc.integer({ min: 0, max: 9 }) }),
  fc.record({ act: fc.constantFrom('hold' as const, 'holdCharge' as const), cents, order }),
  fc.record({
    act: fc.constantFrom('takeDisputed' as const, 'returnDisputed' as const),
    dispute: fc.integer({ min: 0, max: 3 }),
  }),
  fc.record({ act: fc.constantFrom('capture' as const, 'release' as const, 'refundHeld' as const), order }),
);

describeOnEachStore('bookings of orders that there are no rows of', {}, (current) => {
  test('any sequence of bookings sums to zero after each, with wallets that equal a plain model', async () => {
    const { db } = current();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        const workspaceId = await makeWorkspace(db, 0);
        const model = {
          available: 0,
          held: 0,
          events: new Set<number>(),
          orders: new Map<number, number | 'ended'>(),
          disputes: new Map<number, 'taken' | 'won'>(),
        };
        for (const taken of steps) {
          const booked = await db.transaction((tx) => take(tx, workspaceId, taken)).catch(() => false);
          assert.equal(booked, takeInModel(model, taken), JSON.stringify(taken));
          const wallet = await readWallet(db, workspaceId);
          assert.deepEqual(wallet, { availableCents: model.available, heldCents: model.held });
          assert.equal(await sumOfEntries(db, workspaceId), 0);
        }
      }),
      { numRuns: 25 },
    );
    // These holds belong to no order, and these disputes to no payment: everything else adds up.
    assert.deepEqual(
      (await auditLedger(db)).filter((finding) => !/belongs to no order|its disputes/.test(finding)),
      [],
    );
  });

  test('bookings that arrive at once wait for each other in no circle, and add up', async () => {
    const { db } = current();
    const addsUp = fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 40 }), async (steps) => {
      const workspaceId = await makeWorkspace(db, 3_000);
      // Two a transaction, so that each holds one lock while it asks for the next.
      const pairs = steps.map((first, index) => [first, steps[steps.length - 1 - index] ?? first] as const);
      const outcomes = await Promise.allSettled(
        pairs.map((pair) =>
          db.transaction(async (tx) => {
            for (const taken of pair) await take(tx, workspaceId, taken).catch(passRefusal);
          }),
        ),
      );
      assert.deepEqual(
        outcomes.filter(({ status }) => status === 'rejected'),
        [],
      );
      assert.equal(await sumOfEntries(db, workspaceId), 0);
    });
    // With these steps a hold once took what a booking before it had left no longer.
    await fc.assert(addsUp, { numRuns: 5, seed: -1659520275 });
    await fc.assert(addsUp, { numRuns: 5 });
    assert.deepEqual(
      (await auditLedger(db)).filter((finding) => !/belongs to no order|its disputes/.test(finding)),
      [],
    );
  });
});

/** What the ledger refuses by itself leaves the transaction whole; what the database refuses does not. */
function passRefusal(error: unknown): void {
  if (sqlStateOf(error) !== undefined) throw error;
}

async function sumOfEntries(db: Database, workspaceId: string): Promise<number> {
  const { rows } = await db.query<{ sum: number }>({
    text: 'select coalesce(sum(amount_cents), 0)::bigint as sum from domains.ledger_entries where workspace_id = $1',
    values: [workspaceId],
  });
  return rows[0]?.sum ?? Number.NaN;
}

function take(tx: Transaction, workspaceId: string, taken: Step): Promise<boolean> {
  if (taken.act === 'credit') {
    return credit(tx, creditOf(workspaceId, taken.cents, `${workspaceId}:${taken.event}`));
  }
  if ('dispute' in taken) {
    const disputed = { workspaceId, disputeId: `${workspaceId}-${taken.dispute}`, amountCents: DISPUTED_CENTS };
    return { takeDisputed, returnDisputed }[taken.act](tx, disputed);
  }
  const orderId = `${workspaceId}-${taken.order}`;
  if ('cents' in taken) {
    return (taken.act === 'hold' ? hold : holdCharge)(tx, { workspaceId, orderId, amountCents: taken.cents });
  }
  return { capture, release, refundHeld }[taken.act](tx, { workspaceId, orderId });
}

interface Model {
  available: number;
  held: number;
  readonly events: Set<number>;
  readonly orders: Map<number, number | 'ended'>;
  readonly disputes: Map<number, 'taken' | 'won'>;
}

/** More than most of these wallets have. */
const DISPUTED_CENTS = 1_500;

function disputeInModel(model: Model, { act, dispute }: Extract<Step, { readonly dispute: number }>): boolean {
  const isTaken = act === 'takeDisputed';
  // Whoever books a won dispute has booked that it was taken before.
  if (model.disputes.get(dispute) !== (isTaken ? undefined : 'taken')) return false;
  model.disputes.set(dispute, isTaken ? 'taken' : 'won');
  model.available += isTaken ? -DISPUTED_CENTS : DISPUTED_CENTS;
  return true;
}

function takeInModel(model: Model, taken: Step): boolean {
  if (taken.act === 'credit') {
    if (model.events.has(taken.event)) return false;
    model.events.add(taken.event);
    model.available += taken.cents;
    return true;
  }
  if ('dispute' in taken) return disputeInModel(model, taken);
  const held = model.orders.get(taken.order);
  if ('cents' in taken) {
    if (held !== undefined || (taken.act === 'hold' && model.available < taken.cents)) return false;
    if (taken.act === 'hold') model.available -= taken.cents;
    model.held += taken.cents;
    model.orders.set(taken.order, taken.cents);
    return true;
  }
  if (typeof held !== 'number') return false;
  model.held -= held;
  if (taken.act === 'release') model.available += held;
  model.orders.set(taken.order, 'ended');
  return true;
}
