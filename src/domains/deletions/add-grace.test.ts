/** Names that are deleted so soon that their registry takes them back for nothing, over EPP: its bill, and our ledger. */
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import type { TestWorkspace } from '../../../test/support/domains.ts';
import { startDomainsOverEpp } from '../../../test/support/domains-over-epp.ts';
import { createOperator } from '../operator/index.ts';
import { readBill } from '../registry/simulated/index.ts';
import { auditLedger, readWallet } from '../wallet/index.ts';
import { workspaceDb } from '../workspace-scope.ts';

const DAY_MS = 86_400_000;
const FEE_CENTS = 20;

const service = await startDomainsOverEpp({
  endpoint: { addGrace: { days: 5, feeCents: FEE_CENTS } },
  mailer: { send: async () => undefined },
});
after(() => service.close());
afterEach(() => service.letNamesGo());
const { db, deliver, domains, later, owner } = service;
const { clock, ours } = service.epp;

const available = async ({ workspaceId }: TestWorkspace) => (await readWallet(db, workspaceId)).availableCents;
const billOf = async (name: string) =>
  (await readBill(db, ours.registrarId))
    .filter((charge) => charge.name === name)
    .reduce((sum, charge) => sum + charge.amount_cents, 0);

test('what was registered, and renewed, a few days ago comes back less the fee, and the registry bills nothing', async () => {
  const workspace = await owner();
  const before = await available(workspace);
  await workspace.post('/domains', { domain: 'early.com', confirm_price: 23.8, duration: 2 });
  await workspace.post('/domains/early.com/renew', { confirm_price: 11.9 });
  assert.equal(await available(workspace), before - 3_570);
  assert.ok((await billOf('early.com')) > 0);
  await later(4 * DAY_MS);
  const { body, text } = await workspace.delete('/domains/early.com');
  assert.deepEqual([body.status, body.refunded], ['Deleted', 35.5], text);
  assert.equal(await available(workspace), before - FEE_CENTS);
  assert.equal(await billOf('early.com'), 0);
  const [movement] = (await workspace.get('/wallet/ledger')).body.movements;
  assert.deepEqual(
    [movement.kind, movement.available_change_cents, movement.description],
    ['grace_refund', 3_550, 'early.com'],
  );
  assert.deepEqual(await auditLedger(db), []);
});

test('nothing comes back once those days are over', async () => {
  const workspace = await owner('late.com');
  const before = await available(workspace);
  await later(5.1 * DAY_MS);
  const { body, text } = await workspace.delete('/domains/late.com');
  assert.deepEqual([body.status, body.refunded], ['Pending', undefined], text);
  for (let count = 0; count < 10; count += 1) await later(4 * DAY_MS);
  assert.deepEqual((await workspace.get('/domains')).body.domains, []);
  assert.equal(await available(workspace), before);
  assert.ok((await billOf('late.com')) > 0);
});

test('a deletion whose answer was lost gives the money back once, whoever finds out that it was done', async () => {
  for (const name of ['resent.com', 'swept.com']) {
    const workspace = await owner(name);
    const before = await available(workspace);
    deliver(({ kind }) => (kind === 'domain:delete' ? { kind: 'cut' } : undefined));
    const { body, text } = await workspace.delete(`/domains/${name}`);
    assert.deepEqual([body.status, body.refunded], ['Pending', undefined], text);
    deliver(undefined);
    clock.advance(3_600_000);
    if (name === 'resent.com') await domains.resendDeletions();
    else for (let count = 0; count < 3; count += 1) await later(2 * DAY_MS);
    await domains.resendDeletions();
    assert.deepEqual((await workspace.get('/domains')).body.domains, []);
    assert.deepEqual([name, await available(workspace)], [name, before + 1_190 - FEE_CENTS]);
    assert.equal(await billOf(name), 0);
  }
  assert.deepEqual(await auditLedger(db), []);
});

test('nothing comes back for a name that went by way of its redemption period, whose deletion was asked for in time', async () => {
  const workspace = await owner('redeemed.com');
  const before = await available(workspace);
  // The registry fails at the first command, and the answer to the second is lost.
  deliver(({ kind }) => (kind === 'domain:delete' ? { kind: 'refused', code: 2400 } : undefined));
  assert.equal((await workspace.delete('/domains/redeemed.com')).body.status, 'Pending');
  await later(6 * DAY_MS);
  assert.equal((await workspace.get('/domains/redeemed.com')).body.status, 'Active');
  deliver(({ kind }) => (kind === 'domain:delete' ? { kind: 'cut' } : undefined));
  await domains.resendDeletions();
  deliver(undefined);
  const seen = new Set<string>();
  // The name is pending for five days before it is gone.
  for (let day = 0; day < 40; day += 4) {
    await later(4 * DAY_MS);
    seen.add((await workspace.get('/domains/redeemed.com')).body.status);
  }
  assert.deepEqual([...seen], ['Redemption', 'PendingDelete', undefined]);
  assert.deepEqual((await workspace.get('/domains')).body.domains, []);
  assert.equal(await available(workspace), before);
  assert.ok((await billOf('redeemed.com')) > 0);
});

test('the days that count are those that were said when the name was registered', async () => {
  const workspace = await owner('shorter.com');
  const before = await available(workspace);
  // As of a registry that is said to give two days, and gives five.
  const until = new Date(clock.now().getTime() + 2 * DAY_MS);
  await workspaceDb(db, workspace.workspaceId).updateTable('domains').set({ add_grace_until: until }).execute();
  await later(3 * DAY_MS);
  const { body, text } = await workspace.delete('/domains/shorter.com');
  assert.deepEqual([body.status, body.refunded], ['Deleted', undefined], text);
  assert.equal(await available(workspace), before);
});

const operator = createOperator({ db, clock, registry: service.registry });
/** Paid back, as the answer to its deletion was lost and the registry then denied the name; and with our account all the same. */
async function payBackWrongly(workspace: TestWorkspace, name: string): Promise<void> {
  const before = await available(workspace);
  deliver(({ kind }) => (kind === 'domain:delete' ? { kind: 'silent' } : undefined));
  const { body, text } = await workspace.delete(`/domains/${name}`);
  assert.equal(body.status, 'Pending', text);
  service.answerWrongly((_command, named) => (named === name ? 2303 : undefined));
  deliver(undefined);
  service.cutConnections();
  for (let count = 0; count < 3; count += 1) await later(DAY_MS / 8);
  await domains.resendDeletions();
  service.answerWrongly(undefined);
  assert.deepEqual((await workspace.get(`/domains/${name}`)).status, 404);
  assert.equal(await available(workspace), before + 1_190 - FEE_CENTS);
  assert.ok((await billOf(name)) > 0, 'the registry bills it: nothing was deleted');
}

test('a name that turns out to be with us still is put back once it is paid again, once', async () => {
  const workspace = await owner('still.com');
  const before = await available(workspace);
  await payBackWrongly(workspace, 'still.com');
  const answers = await Promise.allSettled([1, 2, 3].map(() => operator.recover_name({ name: 'still.com' })));
  const done = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.charged_cents] : []));
  assert.deepEqual(done, [1_190 - FEE_CENTS]);
  assert.equal(await available(workspace), before);
  const [movement] = (await workspace.get('/wallet/ledger')).body.movements;
  assert.deepEqual([movement.kind, movement.available_change_cents], ['grace_return', -1_170]);
  await later(60_000);
  assert.equal((await workspace.get('/domains/still.com')).body.status, 'Active');

  // Within its days it is deleted again, and paid back again.
  const { body } = await workspace.delete('/domains/still.com');
  assert.deepEqual([body.status, body.refunded], ['Deleted', 11.7]);
  assert.equal(await available(workspace), before + 1_170);
  assert.equal(await billOf('still.com'), 0);
  assert.deepEqual(await auditLedger(db), []);
});

test('a name that nobody pays again is not put back, nor one that the registry has truly taken back', async () => {
  const workspace = await service.createWorkspace();
  await workspace.fund(1_190 + 100);
  await workspace.patch('/registrant', {
    contact: { street: '1 Lane', city: 'Cork', postal_code: 'C1', country: 'IE' },
  });
  for (const domain of ['poor.com', 'rest.com']) {
    const { status, text } = await workspace.post('/domains', { domain, confirm_price: 11.9 });
    assert.equal(status, 201, text);
    if (domain === 'poor.com') await payBackWrongly(workspace, 'poor.com');
  }
  await assert.rejects(operator.recover_name({ name: 'poor.com' }), /does not cover/);
  await assert.rejects(
    operator.assign_name({ name: 'poor.com', workspace: workspace.workspaceId }),
    /domains name recover, which charges that again/,
  );
  assert.equal(await available(workspace), 80);
  await workspace.fund(1_090);
  assert.equal((await operator.recover_name({ name: 'poor.com' })).charged_cents, 1_170);
  assert.equal(await available(workspace), 0);

  const other = await owner('truly.com');
  await other.delete('/domains/truly.com');
  const after = await available(other);
  await assert.rejects(operator.recover_name({ name: 'truly.com' }), /there is nothing to put back/);
  assert.equal(await available(other), after);
  assert.deepEqual(await auditLedger(db), []);
});
