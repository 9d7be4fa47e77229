import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startDomains } from '../../../test/support/domains.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { leaseOrder, listDueOrders, updateOrder } from './store.ts';

const MINUTE_MS = 60_000;
const service = await startDomains();
after(() => service.close());

/** An order that waits for its registry, and what takes its lease; each lease is of one minute. */
async function placeOrder(name: string) {
  const workspace = await service.createWorkspace();
  await workspace.fund(100_000);
  const { status, body } = await workspace.post('/domains', { domain: name, confirm_price: 11.9 });
  assert.deepEqual([status, body.status], [201, 'Pending']);
  const db = workspaceDb(service.db, workspace.workspaceId);
  const id: string = body.order_id;
  // Past every time at which it would be looked at.
  const startMs = Date.now() + 86_400_000;
  const at = (minutes: number) => new Date(startMs + minutes * MINUTE_MS);
  return {
    lease: (minutes: number) => leaseOrder(db, id, at(minutes), at(minutes + 1)),
    release: (minutes: number) =>
      updateOrder(db, id, ['pending'], { isLeased: false, nextLookAt: at(minutes), now: at(minutes) }),
    async isDue(minutes: number) {
      const { due } = await listDueOrders(systemDb(service.db), at(minutes), undefined, 10_000);
      return due.some((order) => order.id === id);
    },
  };
}

test('an order whose process ended is taken up at once the first time, and then later each time', async () => {
  const order = await placeOrder('slow-lapsing.com');
  let leasedAt = 0;
  assert.equal((await order.lease(leasedAt))?.lapsed_leases, 0);
  for (const [ends, waitMinutes] of [0, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360].entries()) {
    const free = leasedAt + 1 + waitMinutes;
    assert.equal(await order.isDue(free - 0.5), false, `after ${ends + 1} ends`);
    assert.equal(await order.lease(free - 0.5), undefined, `after ${ends + 1} ends`);
    assert.equal(await order.isDue(free), true, `after ${ends + 1} ends`);
    assert.equal((await order.lease(free))?.lapsed_leases, ends + 1);
    leasedAt = free;
  }
});

test('a lease that is given back ends the count', async () => {
  const order = await placeOrder('slow-given-back.com');
  await order.lease(0);
  await order.lease(1);
  assert.equal((await order.lease(4))?.lapsed_leases, 2);
  assert.notEqual(await order.release(4.5), undefined);
  assert.equal((await order.lease(4.5))?.lapsed_leases, 0);
  assert.equal((await order.lease(5.5))?.lapsed_leases, 1);
});
