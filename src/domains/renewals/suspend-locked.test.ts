/** A name under its owner's lock, at a registry that renews by itself, whose term nobody pays for. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { DAY_MS, startOrders } from '../../../test/support/orders.ts';
import { registryDb } from '../registry/simulated/index.ts';

const PRICE = 11.9;
const LOCK = ['clientDeleteProhibited', 'clientTransferProhibited', 'clientUpdateProhibited'];

const service = await startOrders({
  mailer: { send: async () => undefined },
  simulated: { autoRenewGraceDays: 45, delays: { createSeconds: 0, renewSeconds: 0 } },
});
after(() => service.close());
const { clock, db } = service;

async function statusesOf(name: string): Promise<string[]> {
  const { client_statuses: statuses } = await registryDb(db)
    .selectFrom('registry_domains')
    .select('client_statuses')
    .where('name', '=', name)
    .executeTakeFirstOrThrow();
  return [...statuses].sort();
}

async function workAll(): Promise<void> {
  await service.domains.orders.sweep();
  await service.domains.unpaidNames.runDue();
}

test('a locked name is suspended and, once paid for, freed: its lock stays', async () => {
  const name = 'bolted-unpaid.com';
  const owner = await service.fundedWorkspace(100_000);
  const registered = await owner.post('/domains', { domain: name, confirm_price: PRICE });
  assert.ok(registered.status < 300, registered.text);
  clock.advance(DAY_MS);
  await workAll();
  const { status, text } = await owner.patch(`/domains/${name}/settings`, { auto_renew: false, registrar_lock: true });
  assert.equal(status, 200, text);
  assert.deepEqual(await statusesOf(name), LOCK);
  clock.advance(366 * DAY_MS);
  await workAll();
  assert.deepEqual(await statusesOf(name), [...LOCK, 'clientHold'].sort());
  const renewed = await owner.post(`/domains/${name}/renew`, { confirm_price: PRICE, duration: 1 });
  assert.ok(renewed.status < 300, renewed.text);
  await workAll();
  assert.deepEqual(await statusesOf(name), LOCK);
});
