import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeOnEachStore } from '../../../test/support/database.ts';
import { creditOf, makeOrder, makeWorkspace, setState } from '../../../test/support/ledger-world.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { auditLedger, capture, credit, hold, holdCharge, readWallet, refundHeld, release } from './index.ts';

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
