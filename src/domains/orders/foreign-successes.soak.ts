/** A registry that answers a change with a success that is another command's, and does nothing, over EPP. */
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { startDomainsOverEpp } from '../../../test/support/domains-over-epp.ts';
import type { ResultCode } from '../registry/result-codes.ts';
import { readBill } from '../registry/simulated/index.ts';
import { auditLedger, readWallet } from '../wallet/index.ts';

const HOUR_MS = 3_600_000;
const confirm_price = 11.9;
/** Of a poll without and with a message, and of a logout. */
const FOREIGN: readonly ResultCode[] = [1300, 1301, 1500];

const service = await startDomainsOverEpp();
const { db, deliver, later, owner } = service;
const { ours } = service.epp;
after(() => service.close());
afterEach(async () => {
  await service.letNamesGo();
  deliver(undefined);
  assert.deepEqual(await auditLedger(db), []);
});

for (const code of FOREIGN) {
  test(`a registration that is answered with ${code} is not paid for until the registry has it`, async () => {
    const name = `bought-${code}.com`;
    const buyer = await owner();
    const { availableCents: before } = await readWallet(db, buyer.workspaceId);
    const money = async () => {
      const { availableCents, heldCents } = await readWallet(db, buyer.workspaceId);
      return [before - availableCents, heldCents];
    };
    deliver(({ kind }) => (kind === 'domain:create' ? { kind: 'refused', code } : undefined));
    const { body, status, text } = await buyer.post('/domains', { domain: name, confirm_price });
    assert.deepEqual([status, body.status], [201, 'Pending'], text);
    await later(HOUR_MS);
    assert.equal((await buyer.get(`/orders/${body.order_id}`)).body.status, 'Pending');
    assert.deepEqual(await money(), [1_190, 1_190]);
    deliver(undefined);
    for (let count = 0; count < 5; count += 1) await later(HOUR_MS);
    assert.equal((await buyer.get(`/orders/${body.order_id}`)).body.status, 'Completed');
    assert.deepEqual(await money(), [1_190, 0]);
    assert.equal((await readBill(db, ours.registrarId)).filter((charge) => charge.name === name).length, 1);
  });

  test(`a change that is answered with ${code} is not said to be made`, async () => {
    const name = `changed-${code}.com`;
    const workspace = await owner(name);
    await later(HOUR_MS);
    deliver(({ kind }) => (kind === 'domain:update' ? { kind: 'refused', code } : undefined));
    const nameservers = ['ns1.new.example', 'ns2.new.example'];
    const { body, status } = await workspace.patch(`/domains/${name}/settings`, { nameservers });
    assert.deepEqual([status, body.error], [500, 'internal']);
  });
}
