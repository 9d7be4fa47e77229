/** Names that our registrar account has already: an order gets what it did, and nothing that was there before. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { DAY_MS, type PlannedFault, refusal, startOrders } from '../../../test/support/orders.ts';
import { done, testContact } from '../../../test/support/simulated-registry.ts';
import { createOperator } from '../operator/index.ts';
import { createRegistryCore, OUR_REGISTRAR } from '../registry/simulated/index.ts';

const HOUR_MS = 3_600_000;
const LOOK_MS = 900_000;
const confirm_price = 11.9;

const service = await startOrders();
const { balance, clock, db, fundedWorkspace, later, plan, registry } = service;
after(() => service.close());

/** Another program of ours at the same registry. */
const core = createRegistryCore({
  db,
  clock,
  prices: () => ({ createCents: 500, renewCents: 500, transferCents: 500, restoreCents: 5_000 }),
  delays: { createSeconds: 0, renewSeconds: 0 },
});
const elsewhere = { registrarId: OUR_REGISTRAR, clTRID: 'other-program' };
done(await core.createContact(elsewhere, testContact('OTHER-PROGRAM')));
const registerElsewhere = async (name: string) =>
  done(await core.createDomain(elsewhere, { name, years: 1, registrant: 'OTHER-PROGRAM', authInfo: 'of-the-other' }));

/** The next reads of these names wrongly find nothing. */
const hidden: string[] = [];
const { info } = registry;
registry.info = async (name) => {
  const index = hidden.indexOf(name);
  if (index === -1) return info.call(registry, name);
  hidden.splice(index, 1);
  return undefined;
};

const operator = createOperator({ db, clock });
const unassigned = async () => (await operator.unassigned_names({})).names.map(({ name }) => name);

const faults: readonly (readonly [what: string, faults: readonly PlannedFault[]])[] = [
  ['every answer comes', []],
  ['the command is lost', [{ command: 'create', moment: 'before', fault: 'timeout' }]],
  ['the answer is lost', [{ command: 'create', moment: 'after', fault: 'disconnect' }]],
];

describe('a registration of a name that is ours before', () => {
  for (const [index, [what, planned]] of faults.entries()) {
    test(`fails, gives the money back and tells the operator, where ${what}`, async () => {
      const name = `before-${index}.com`;
      const { expiresAt } = await registerElsewhere(name);
      const workspace = await fundedWorkspace();
      plan(name, planned);
      const answer = await workspace.post('/domains', { domain: name, confirm_price });
      assert.deepEqual(refusal(answer), [422, 'registration_failed']);
      await later(DAY_MS);
      assert.deepEqual(await balance(workspace), [100_000, 0]);
      assert.deepEqual((await workspace.get('/domains')).body.domains, []);
      const found = (await operator.unassigned_names({})).names.find((each) => each.name === name);
      assert.equal(found?.expires_at, expiresAt.toISOString());
      await service.assertBooksAreRight();
    });

    test(`fails also where the registry wrongly found nothing before it, and ${what}`, async () => {
      const name = `hidden-${index}.com`;
      await registerElsewhere(name);
      clock.advance(2 * HOUR_MS);
      const workspace = await fundedWorkspace();
      hidden.push(name);
      plan(name, planned);
      const answer = await workspace.post('/domains', { domain: name, confirm_price });
      assert.deepEqual(refusal(answer), [422, 'registration_failed']);
      await later(DAY_MS);
      assert.deepEqual(await balance(workspace), [100_000, 0]);
      assert.deepEqual((await workspace.get('/domains')).body.domains, []);
    });
  }

  test('that registers nothing leaves what a lost answer of ours did to its own order', async () => {
    const workspace = await fundedWorkspace();
    plan('mine.com', [{ command: 'create', moment: 'after', fault: 'timeout' }]);
    const { status } = await workspace.post('/domains', { domain: 'mine.com', confirm_price });
    assert.equal(status, 201);
    assert.equal((await workspace.get('/domains/mine.com')).status, 200);
    assert.ok(!(await unassigned()).includes('mine.com'));
  });
});

describe('a transfer', () => {
  test('of a name that is ours before fails, whatever the code, and tells the operator', async () => {
    for (const [name, auth_code] of [
      ['right-code.com', 'of-the-other'],
      ['wrong-code.com', 'no-code-of-it'],
    ] as const) {
      await registerElsewhere(name);
      const workspace = await fundedWorkspace();
      plan(name, [{ command: 'transfer', moment: 'after', fault: 'timeout' }]);
      const answer = await workspace.post(`/domains/${name}/transfer`, { auth_code, confirm_price });
      assert.deepEqual(refusal(answer), [422, 'transfer_failed'], name);
      await later(DAY_MS);
      assert.deepEqual(await balance(workspace), [100_000, 0]);
      assert.equal((await workspace.get(`/domains/${name}`)).status, 404);
      assert.ok((await unassigned()).includes(name));
    }
  });

  test('that another program of ours had asked for before is not this order’s', async () => {
    const name = 'taken-by-other.com';
    done(await core.requestTransfer(elsewhere, { name, authInfo: 'simulated-auth' }));
    clock.advance(2 * HOUR_MS);
    const workspace = await fundedWorkspace();
    plan(name, [{ command: 'transfer', moment: 'after', fault: 'timeout' }]);
    await workspace.post(`/domains/${name}/transfer`, { auth_code: 'simulated-auth', confirm_price });
    await later(5 * DAY_MS);
    await later(LOOK_MS);
    assert.equal(done(await core.infoDomain(elsewhere, { name })).sponsor, OUR_REGISTRAR, 'it has ended');
    assert.deepEqual(await balance(workspace), [100_000, 0]);
    assert.equal((await workspace.get(`/domains/${name}`)).status, 404);
    assert.ok((await unassigned()).includes(name));
    await service.assertBooksAreRight();
  });

  test('of its own is done, though its answer was lost', async () => {
    const name = 'quick-transfer-own.com';
    const workspace = await fundedWorkspace();
    plan(name, [{ command: 'transfer', moment: 'after', fault: 'timeout' }]);
    const asked = await workspace.post(`/domains/${name}/transfer`, { auth_code: 'simulated-auth', confirm_price });
    assert.equal(asked.status, 201, asked.text);
    await later(LOOK_MS);
    assert.equal((await workspace.get(`/domains/${name}`)).status, 200);
    assert.deepEqual(await balance(workspace), [98_810, 0]);
  });
});

test('an operator says whose an unassigned name is, once', async () => {
  const name = 'whose.com';
  const { expiresAt } = await registerElsewhere(name);
  const [asker, owner] = [await fundedWorkspace(), await fundedWorkspace()];
  await asker.post('/domains', { domain: name, confirm_price });
  await assert.rejects(operator.assign_name({ name, workspace: 'wsp_nobody' }), /no workspace wsp_nobody/);
  const assigned = await operator.assign_name({ name: 'Whose.com', workspace: owner.workspaceId });
  assert.deepEqual([assigned.name, assigned.workspace_id], [name, owner.workspaceId]);
  await later(0);
  const { body } = await owner.get(`/domains/${name}`);
  assert.deepEqual([body.status, body.renewal.billed_until], ['Active', expiresAt.toISOString()]);
  assert.equal((await asker.get(`/domains/${name}`)).status, 404);
  assert.ok(!(await unassigned()).includes(name));
  await assert.rejects(operator.assign_name({ name, workspace: asker.workspaceId }), /is not unassigned/);
});

test('nothing is sent for an order before the registry has said what it has of the name', async () => {
  const name = 'silent-first.com';
  const workspace = await fundedWorkspace();
  const silent: PlannedFault = { command: 'info', moment: 'before', fault: 'timeout' };
  plan(
    name,
    Array.from({ length: 8 }, () => silent),
  );
  const order = workspace.post('/domains', { domain: name, confirm_price }, { 'idempotency-key': 'silent' });
  assert.equal((await order).body.status, 'Pending');
  assert.deepEqual(await balance(workspace), [98_810, 1_190]);
  assert.equal(await core.infoDomain(elsewhere, { name }).then(({ ok }) => ok), false, 'no command has come');
  plan(name, []);
  await later(DAY_MS);
  const again = await workspace.post('/domains', { domain: name, confirm_price }, { 'idempotency-key': 'silent' });
  assert.equal(again.status, 201, again.text);
  assert.deepEqual(await balance(workspace), [98_810, 0]);
});
