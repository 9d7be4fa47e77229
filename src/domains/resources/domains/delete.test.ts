import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestWorkspace } from '../../../../test/support/domains.ts';
import { DAY_MS, refusal, startOrders } from '../../../../test/support/orders.ts';

const service = await startOrders({ simulated: { delays: { createSeconds: 0, renewSeconds: 60 } } });
const { plan, balance, later, fundedWorkspace } = service;
after(() => service.close());

/** A deletion whose answer was lost is sent again after so long. */
const AGAIN_MS = 10_000;
const PRICE = { com: 11.9, eu: 7.9 } as const;

async function owner(...names: string[]): Promise<TestWorkspace> {
  const workspace = await fundedWorkspace();
  for (const domain of names) {
    const confirm_price = domain.endsWith('.eu') ? PRICE.eu : PRICE.com;
    const { status, text } = await workspace.post('/domains', { domain, confirm_price });
    assert.equal(status, 201, text);
  }
  return workspace;
}

test('within days of its registration a name is gone at once, without its money, and anybody may have it', async () => {
  const workspace = await owner('grace.com');
  const { status, body } = await workspace.delete('/domains/Grace.com');
  assert.deepEqual(
    [status, body],
    [200, { domain: 'grace.com', status: 'Deleted', release_at: '2027-03-01T12:00:00.000Z' }],
  );
  assert.deepEqual(refusal(await workspace.get('/domains/grace.com')), [404, 'not_found']);
  assert.deepEqual(refusal(await workspace.delete('/domains/grace.com')), [404, 'not_found']);
  assert.deepEqual(await balance(workspace), [98_810, 0]);
  await owner('grace.com');
  await service.assertBooksAreRight();
});

test('later it waits in redemption, is not renewed meanwhile, and leaves when that is over', async () => {
  const workspace = await owner('old.com');
  await later(6 * DAY_MS);
  const deleted = await workspace.delete('/domains/old.com');
  assert.deepEqual([deleted.status, deleted.body.status], [200, 'Pending']);
  const { body } = await workspace.get('/domains/old.com');
  assert.deepEqual([body.status, body.auto_renew, body.release_at], ['Redemption', false, deleted.body.release_at]);
  assert.deepEqual([body.renewal.term, body.renewal.next_charge_at], ['off', null]);
  const renewed = await workspace.post('/domains/old.com/renew', { confirm_price: PRICE.com });
  assert.deepEqual(refusal(renewed), [422, 'renew_failed']);
  // What is deleted stays so, and its time with it.
  await later(DAY_MS);
  const again = await workspace.delete('/domains/old.com');
  assert.deepEqual([again.status, again.body], [200, deleted.body]);
  await later(30 * DAY_MS);
  assert.equal((await workspace.get('/domains/old.com')).body.status, 'PendingDelete');
  await later(5 * DAY_MS);
  assert.deepEqual(refusal(await workspace.get('/domains/old.com')), [404, 'not_found']);
  assert.deepEqual((await workspace.get('/domains')).body.domains, []);
});

test('where the TLD deletes at the end of the term, the release is scheduled, and the name works until then', async () => {
  const workspace = await owner('scheduled.eu');
  const { status, body } = await workspace.delete('/domains/scheduled.eu');
  const { expires_at: expiresAt } = (await workspace.get('/domains/scheduled.eu')).body;
  assert.deepEqual(
    [status, body],
    [200, { domain: 'scheduled.eu', status: 'ReleaseScheduled', release_at: expiresAt }],
  );
  const [listed] = (await workspace.get('/domains')).body.domains;
  assert.deepEqual([listed.status, listed.auto_renew, listed.release_at], ['Active', false, expiresAt]);
  // Buying a further term takes back the scheduled release.
  await workspace.post('/domains/scheduled.eu/renew', { confirm_price: PRICE.eu });
  await later(60_000);
  assert.equal((await workspace.get('/domains/scheduled.eu')).body.release_at, null);
});

test('`when` chooses otherwise; bad_request for anything else', async () => {
  const workspace = await owner('now.eu', 'then.com');
  assert.equal((await workspace.delete('/domains/now.eu?when=now')).body.status, 'Deleted');
  assert.equal((await workspace.delete('/domains/then.com?when=at_expiry')).body.status, 'ReleaseScheduled');
  assert.deepEqual(refusal(await workspace.delete('/domains/then.com?when=never')), [400, 'bad_request']);
  assert.deepEqual(refusal(await workspace.delete('/domains/no name')), [400, 'bad_request']);
});

test('delete_failed: a name that is locked stays as it is', async () => {
  const workspace = await owner('bolted.com');
  await service.registry.update({ name: 'bolted.com', transactionId: 'lock', locked: true });
  const { status, body } = await workspace.delete('/domains/bolted.com');
  assert.deepEqual([status, body.error, body.details.reason], [422, 'delete_failed', 'status_prohibits']);
  assert.match(body.details.message, /locked.*`registrar_lock`/);
  assert.doesNotMatch(body.details.message, /clientDeleteProhibited/);
  const kept = (await workspace.get('/domains/bolted.com')).body;
  assert.deepEqual([kept.status, kept.auto_renew, kept.release_at], ['Active', true, null]);
});

test('a repetition under the same key is a replay; idempotency_key_reused for another name', async () => {
  const workspace = await owner('key-one.com', 'key-two.com');
  const key = { 'idempotency-key': 'delete' };
  const first = await workspace.delete('/domains/key-one.com', key);
  const second = await workspace.delete('/domains/key-one.com', key);
  assert.deepEqual([second.status, second.body], [200, first.body]);
  assert.deepEqual([first.headers.get('idempotent-replay'), second.headers.get('idempotent-replay')], [null, 'true']);
  assert.deepEqual(refusal(await workspace.delete('/domains/key-two.com', key)), [409, 'idempotency_key_reused']);
});

for (const [age, ageMs, status] of [
  ['young', 0, 'Deleted'],
  ['old', 10 * DAY_MS, 'Pending'],
] as const) {
  for (const moment of ['before', 'after'] as const) {
    test(`an answer lost ${moment} the registry deleted a name that is ${age} is Pending, and then it is deleted`, async () => {
      const name = `lost-${moment}-${age}.com`;
      const workspace = await owner(name);
      await later(ageMs);
      plan(name, [{ command: 'delete', moment, fault: 'timeout' }]);
      const first = await workspace.delete(`/domains/${name}`);
      assert.deepEqual([first.status, first.body.status], [200, 'Pending'], first.text);
      const renewed = await workspace.post(`/domains/${name}/renew`, { confirm_price: PRICE.com });
      assert.deepEqual(refusal(renewed), [422, 'renew_failed']);
      await later(AGAIN_MS);
      await service.domains.resendDeletions();
      const { domains } = (await workspace.get('/domains')).body;
      assert.deepEqual(
        domains.map((each: { status: string; auto_renew: boolean }) => [each.status, each.auto_renew]),
        status === 'Deleted' ? [] : [['Redemption', false]],
      );
    });
  }
}

test('a refusal that an earlier deletion may have caused is none until the name can be read', async () => {
  const workspace = await owner('echo.com');
  plan('echo.com', [
    { command: 'delete', moment: 'after', fault: 'timeout' },
    { command: 'info', moment: 'before', fault: 'timeout' },
  ]);
  for (const _ of ['lost', 'not seen']) {
    assert.equal((await workspace.delete('/domains/echo.com')).body.status, 'Pending');
  }
  assert.equal((await workspace.delete('/domains/echo.com')).body.status, 'Deleted');
});

test('a name that could not be read after its deletion leaves with the next sweep', async () => {
  const workspace = await owner('unseen.com');
  plan('unseen.com', [{ command: 'info', moment: 'before', fault: 'timeout' }]);
  assert.equal((await workspace.delete('/domains/unseen.com')).body.status, 'Pending');
  await later(0);
  assert.deepEqual((await workspace.get('/domains')).body.domains, []);
});

test('a deleted name of which the registry does not say that it is free leaves as soon as it does', async () => {
  const workspace = await owner('unsaid.com');
  const silent = { command: 'check', moment: 'before', fault: 'timeout' } as const;
  plan('unsaid.com', [silent, silent]);
  assert.equal((await workspace.delete('/domains/unsaid.com')).body.status, 'Pending');
  await service.domains.orders.sweep();
  assert.equal((await workspace.get('/domains')).body.domains.length, 1);
  await service.domains.orders.sweep();
  assert.deepEqual((await workspace.get('/domains')).body.domains, []);
});

test('renewal_in_progress, pending_at_registry: what is being bought can be deleted once it is', async () => {
  const workspace = await owner('busy.com');
  await workspace.post('/domains/busy.com/renew', { confirm_price: PRICE.com });
  for (const when of ['now', 'at_expiry']) {
    const renewing = await workspace.delete(`/domains/busy.com?when=${when}`);
    assert.deepEqual([...refusal(renewing), renewing.body.details.state], [409, 'renewal_in_progress', 'pending']);
  }
  await later(60_000);
  assert.equal((await workspace.delete('/domains/busy.com')).status, 200);
  await workspace.post('/domains', { domain: 'slow-busy.com', confirm_price: PRICE.com });
  const registering = await workspace.delete('/domains/slow-busy.com');
  assert.deepEqual(refusal(registering), [409, 'pending_at_registry']);
  assert.equal(registering.body.details.addedVia, 'registration');
});
