import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { describeOnEachStore } from '../../../test/support/database.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import type { OrderState } from '../tables.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import {
  auditLedger,
  capture,
  credit,
  hold,
  holdCharge,
  openWallet,
  readWallet,
  refundHeld,
  release,
} from './index.ts';

async function makeWorkspace(db: Database, cents: number): Promise<string> {
  const workspaceId = mintId('wsp');
  await db.transaction(async (tx) => {
    await systemDb(tx).insertInto('workspaces').values({ id: workspaceId, name: 'Test' }).execute();
    await openWallet(tx, workspaceId);
    if (cents > 0) await credit(tx, creditOf(workspaceId, cents));
  });
  return workspaceId;
}

function creditOf(workspaceId: string, amountCents: number, reference = mintId('evt')) {
  return { workspaceId, source: 'demo', amountCents, reference, description: 'test' } as const;
}

async function makeOrder(db: Database, workspaceId: string, amountCents: number): Promise<string> {
  const [id, domainId] = [mintId('ord'), mintId('dom')];
  const name = `${domainId}.example`;
  await db.transaction(async (tx) => {
    await tx.query({
      text: `insert into domains.domains (workspace_id, id, name, state, added_via)
             values ($1, $2, $3, 'acquiring', 'registration')`,
      values: [workspaceId, domainId, name],
    });
    await tx.query({
      text: `insert into domains.orders (workspace_id, id, kind, origin, domain_id, name, years, amount_cents, pays_with, state)
             values ($1, $2, 'registration', 'request', $3, $4, 1, $5, 'wallet', 'paying')`,
      values: [workspaceId, id, domainId, name, amountCents],
    });
  });
  return id;
}

async function setState(tx: Transaction, orderId: string, state: OrderState): Promise<void> {
  await tx.query({ text: 'update domains.orders set state = $2 where id = $1', values: [orderId, state] });
}

const refusedFor = (required: number, available: number) => (error: unknown) => {
  assert.ok(error instanceof Error && 'code' in error && 'detail' in error, String(error));
  assert.equal(error.code, 'insufficient_balance');
  assert.deepEqual((error.detail as { details: unknown }).details, { required, available });
  return true;
};

describeOnEachStore('the ledger', {}, (current) => {
  test('a hold moves money aside, and a capture sells it', async () => {
    const { db } = current();
    const workspaceId = await makeWorkspace(db, 5_000);
    const order = { workspaceId, orderId: await makeOrder(db, workspaceId, 1_200) };
    assert.equal(await db.transaction((tx) => hold(tx, { ...order, amountCents: 1_200 })), true);
    assert.deepEqual(await readWallet(db, workspaceId), { availableCents: 3_800, heldCents: 1_200 });
    await db.transaction(async (tx) => {
      await setState(tx, order.orderId, 'completed');
      assert.equal(await capture(tx, order), true);
    });
    assert.deepEqual(await readWallet(db, workspaceId), { availableCents: 3_800, heldCents: 0 });
    assert.deepEqual(await auditLedger(db), []);
  });

  test('an event is booked once, and says so the second time', async () => {
    const { db } = current();
    const workspaceId = await makeWorkspace(db, 0);
    const order = { workspaceId, orderId: await makeOrder(db, workspaceId, 700) };
    const steps: [string, (tx: Transaction) => Promise<boolean>][] = [
      ['credit', (tx) => credit(tx, creditOf(workspaceId, 1_000, `payment:${workspaceId}`))],
      ['hold', (tx) => hold(tx, { ...order, amountCents: 700 })],
      ['release', (tx) => release(tx, order)],
    ];
    for (const [name, step] of steps) {
      assert.deepEqual([await db.transaction(step), await db.transaction(step)], [true, false], name);
    }
    assert.deepEqual(await readWallet(db, workspaceId), { availableCents: 1_000, heldCents: 0 });
  });

  test('a hold beyond the balance is refused with both amounts, and the transaction goes on', async () => {
    const { db } = current();
    const workspaceId = await makeWorkspace(db, 999);
    const orderId = await makeOrder(db, workspaceId, 1_000);
    await db.transaction(async (tx) => {
      await assert.rejects(hold(tx, { workspaceId, orderId, amountCents: 1_000 }), refusedFor(1_000, 999));
      await setState(tx, orderId, 'failed');
    });
    assert.deepEqual(await readWallet(db, workspaceId), { availableCents: 999, heldCents: 0 });
    assert.deepEqual(await auditLedger(db), []);
    await db.transaction((tx) => credit(tx, creditOf(workspaceId, 1)));
    assert.equal(await db.transaction((tx) => hold(tx, { workspaceId, orderId, amountCents: 1_000 })), true);
    await db.transaction((tx) => release(tx, { workspaceId, orderId }));
  });

  test('money of a card is held, and goes back to the card', async () => {
    const { db } = current();
    const workspaceId = await makeWorkspace(db, 300);
    const order = { workspaceId, orderId: await makeOrder(db, workspaceId, 900) };
    await db.transaction((tx) => holdCharge(tx, { ...order, amountCents: 900 }));
    assert.deepEqual(await readWallet(db, workspaceId), { availableCents: 300, heldCents: 900 });
    await db.transaction(async (tx) => {
      await setState(tx, order.orderId, 'failed');
      await refundHeld(tx, order);
    });
    assert.deepEqual(await readWallet(db, workspaceId), { availableCents: 300, heldCents: 0 });
    assert.deepEqual(await auditLedger(db), []);
  });

  test('an order holds once and ends once', async () => {
    const { db } = current();
    const workspaceId = await makeWorkspace(db, 5_000);
    const order = { workspaceId, orderId: await makeOrder(db, workspaceId, 100) };
    await assert.rejects(
      db.transaction((tx) => capture(tx, order)),
      /never held anything/,
    );
    await db.transaction((tx) => hold(tx, { ...order, amountCents: 100 }));
    await assert.rejects(
      db.transaction((tx) => holdCharge(tx, { ...order, amountCents: 100 })),
      /holds money of the wallet already/,
    );
    await db.transaction((tx) => release(tx, order));
    await assert.rejects(
      db.transaction((tx) => capture(tx, order)),
      /ended otherwise/,
    );
    assert.deepEqual(await readWallet(db, workspaceId), { availableCents: 5_000, heldCents: 0 });
  });

  test('a hold of nothing is a hold', async () => {
    const { db } = current();
    const workspaceId = await makeWorkspace(db, 0);
    const order = { workspaceId, orderId: await makeOrder(db, workspaceId, 0) };
    assert.equal(await db.transaction((tx) => hold(tx, { ...order, amountCents: 0 })), true);
    assert.equal(await db.transaction((tx) => release(tx, order)), true);
    assert.equal(await db.transaction((tx) => release(tx, order)), false);
  });

  test('holds that arrive at once cannot overdraw', async () => {
    const { db } = current();
    const workspaceId = await makeWorkspace(db, 1_000);
    const orders = await Promise.all(Array.from({ length: 20 }, () => makeOrder(db, workspaceId, 300)));
    const outcomes = await Promise.allSettled(
      orders.map((orderId) => db.transaction((tx) => hold(tx, { workspaceId, orderId, amountCents: 300 }))),
    );
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 3);
    for (const outcome of outcomes) if (outcome.status === 'rejected') refusedFor(300, 100)(outcome.reason);
    assert.deepEqual(await readWallet(db, workspaceId), { availableCents: 100, heldCents: 900 });
  });

  test('the same event that arrives many times at once is booked once', async () => {
    const { db } = current();
    const workspaceId = await makeWorkspace(db, 0);
    const top = creditOf(workspaceId, 500, `payment:${mintId('pay')}`);
    const credits = await Promise.all(Array.from({ length: 10 }, () => db.transaction((tx) => credit(tx, top))));
    assert.equal(credits.filter(Boolean).length, 1);
    const order = { workspaceId, orderId: await makeOrder(db, workspaceId, 500) };
    const holds = await Promise.all(
      Array.from({ length: 10 }, () => db.transaction((tx) => hold(tx, { ...order, amountCents: 500 }))),
    );
    assert.equal(holds.filter(Boolean).length, 1);
    const ends = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) => db.transaction((tx) => (index % 2 ? capture : release)(tx, order))),
    );
    assert.equal(ends.filter((end) => end.status === 'fulfilled' && end.value).length, 1);
    const { availableCents, heldCents } = await readWallet(db, workspaceId);
    assert.equal(heldCents, 0);
    assert.ok(availableCents === 0 || availableCents === 500);
  });

  test('what was rolled back was not booked', async () => {
    const { db } = current();
    const workspaceId = await makeWorkspace(db, 400);
    const order = { workspaceId, orderId: await makeOrder(db, workspaceId, 400) };
    await assert.rejects(
      db.transaction(async (tx) => {
        await hold(tx, { ...order, amountCents: 400 });
        throw new Error('the caller fails');
      }),
    );
    assert.deepEqual(await readWallet(db, workspaceId), { availableCents: 400, heldCents: 0 });
    assert.equal(await db.transaction((tx) => hold(tx, { ...order, amountCents: 400 })), true);
    await db.transaction((tx) => release(tx, order));
  });
});

describeOnEachStore('the audit', {}, (current) => {
  test('names each kind of wrong in a ledger', async () => {
    const { db } = current();
    const workspaceId = await makeWorkspace(db, 10_000);
    assert.deepEqual(await auditLedger(db), []);
    const stateless = await makeOrder(db, workspaceId, 100);
    await db.transaction((tx) => hold(tx, { workspaceId, orderId: 'ord_nobody', amountCents: 5 }));
    await db.transaction((tx) => setState(tx, stateless, 'completed'));
    const open = await makeOrder(db, workspaceId, 200);
    const captured = await makeOrder(db, workspaceId, 300);
    await db.transaction(async (tx) => {
      await hold(tx, { workspaceId, orderId: open, amountCents: 200 });
      await setState(tx, open, 'failed');
      await hold(tx, { workspaceId, orderId: captured, amountCents: 300 });
      await capture(tx, { workspaceId, orderId: captured });
      await setState(tx, captured, 'failed');
      await tx.query({
        text: 'update domains.wallets set available_cents = available_cents + 1 where workspace_id = $1',
        values: [workspaceId],
      });
    });
    assert.deepEqual(
      (await auditLedger(db)).sort(),
      [
        'the hold of ord_nobody belongs to no order',
        `the order ${stateless} is completed for 100 cents and holds or held 0`,
        `the order ${open} is failed and still holds 200 cents`,
        `the order ${captured} is failed and its hold ended by capture`,
        `the wallet of ${workspaceId} has 9496 available and 205 held; its entries say 9495 and 205`,
      ].sort(),
    );
  });

  test('is not needed for entries that do not balance, or that change: the database refuses them', async () => {
    const { db } = current();
    const workspaceId = await makeWorkspace(db, 100);
    const id = mintId('ltx');
    const lopsided = db.transaction(async (tx) => {
      const workspace = workspaceDb(tx, workspaceId);
      await workspace.insertInto('ledger_transactions').values({ id, kind: 'credit', reference: id }).execute();
      const entry = { transaction_id: id, position: 1, account: 'available', amount_cents: 1 } as const;
      await workspace.insertInto('ledger_entries').values(entry).execute();
    });
    await assert.rejects(lopsided, /does not sum to zero/);
    await assert.rejects(db.query({ text: 'delete from domains.ledger_entries' }), /append-only/);
  });
});

type Step =
  | { readonly act: 'credit'; readonly cents: number; readonly event: number }
  | { readonly act: 'hold' | 'holdCharge'; readonly cents: number; readonly order: number }
  | { readonly act: 'capture' | 'release' | 'refundHeld'; readonly order: number };

const cents = fc.integer({ min: 1, max: 2_000 });
const order = fc.integer({ min: 0, max: 5 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ act: fc.constant('credit' as const), cents, event: fc.integer({ min: 0, max: 9 }) }),
  fc.record({ act: fc.constantFrom('hold' as const, 'holdCharge' as const), cents, order }),
  fc.record({ act: fc.constantFrom('capture' as const, 'release' as const, 'refundHeld' as const), order }),
);

describeOnEachStore('any sequence of bookings', {}, (current) => {
  test('sums to zero after each, with wallets that equal a plain model', async () => {
    const { db } = current();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        const workspaceId = await makeWorkspace(db, 0);
        const model = { available: 0, held: 0, events: new Set<number>(), orders: new Map<number, number | 'ended'>() };
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
    // These holds belong to no order: everything else adds up.
    assert.deepEqual(
      (await auditLedger(db)).filter((finding) => !finding.includes('belongs to no order')),
      [],
    );
  });
});

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
}

function takeInModel(model: Model, taken: Step): boolean {
  if (taken.act === 'credit') {
    if (model.events.has(taken.event)) return false;
    model.events.add(taken.event);
    model.available += taken.cents;
    return true;
  }
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
