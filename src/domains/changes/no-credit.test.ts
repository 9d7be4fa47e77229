/** What a registry does not do for want of our credit (2104), beside what is bought, over EPP: it waits, and is not refused. */
import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, test } from 'node:test';
import type { TestWorkspace } from '../../../test/support/domains.ts';
import { startDomainsOverEpp } from '../../../test/support/domains-over-epp.ts';
import { THEIR_PASSWORD } from '../../../test/support/epp.ts';
import { done, testContact } from '../../../test/support/simulated-registry.ts';
import type { Message } from '../mail/index.ts';
import { createOperator } from '../operator/index.ts';
import { workspaceDb } from '../workspace-scope.ts';

const HOUR_MS = 3_600_000;
const confirm_price = 11.9;

const mails: Message[] = [];
const service = await startDomainsOverEpp({ mailer: { send: async (message) => void mails.push(message) } });
after(() => service.close());
afterEach(() => service.letNamesGo());
const { db, deliver, domains, later, owner } = service;
const { clock, core, ours, theirs } = service.epp;
const other = await service.epp.connect({ clientId: theirs.registrarId, password: THEIR_PASSWORD });
const operator = createOperator({ db, clock, registries: service.registry.members });

beforeEach(() => deliver(undefined));

/** The registry does none of these commands of ours any more. */
function refuse(...kinds: readonly string[]): void {
  deliver(({ kind, registrarId }) =>
    registrarId === ours.registrarId && kinds.includes(kind) ? { kind: 'refused', code: 2104 } : undefined,
  );
}

async function paid(): Promise<void> {
  deliver(undefined);
  clock.advance(HOUR_MS);
  await domains.resendChanges();
  await domains.resendDeletions();
  await domains.watchTransfers();
  await domains.lookAfterAuthCodes();
  await later(1_000);
}

async function requestTransfer(name: string): Promise<void> {
  const { authInfo = '' } = done(await core.infoDomain(ours, { name }));
  const { kind } = await other.transfer({ name, authCode: authInfo, years: 1, transactionId: `trn_${name}` });
  assert.equal(kind, 'pending');
}

const statusesOf = async (name: string) => done(await core.infoDomain(ours, { name })).statuses;
const settings = (workspace: TestWorkspace, name: string, change: object) =>
  workspace.patch(`/domains/${name}/settings`, change);

test('a change of settings is pending until there is credit, and the operator is told', async () => {
  const workspace = await owner('bolted-later.com');
  refuse('domain:update');
  const { body, status } = await settings(workspace, 'bolted-later.com', { registrar_lock: false, auto_renew: false });
  assert.deepEqual([status, body.status], [200, 'Completed'], 'nothing of it is at the registry');
  const change = await settings(workspace, 'bolted-later.com', { registrar_lock: true });
  assert.deepEqual([change.status, change.body.status], [200, 'Pending'], change.text);
  const [balance] = (await operator.registry_balances({})).balances;
  assert.notEqual(balance?.refused_at, null);
  clock.advance(HOUR_MS);
  await domains.resendChanges();
  assert.ok(!(await statusesOf('bolted-later.com')).includes('clientTransferProhibited'));
  await paid();
  assert.ok((await statusesOf('bolted-later.com')).includes('clientTransferProhibited'));
  const [row] = await workspaceDb(db, workspace.workspaceId).selectFrom('domains').selectAll().execute();
  assert.deepEqual([row?.change_wanted, row?.change_look_at], [null, null]);
});

test('a later change takes the place of what waits, and the rest of it is made', async () => {
  const workspace = await owner('changed.com');
  refuse('domain:update');
  const nameservers = ['ns1.elsewhere.test', 'ns2.elsewhere.test'];
  await settings(workspace, 'changed.com', { registrar_lock: true });
  const moved = await settings(workspace, 'changed.com', { nameservers });
  assert.equal(moved.body.status, 'Pending', moved.text);
  deliver(undefined);
  await settings(workspace, 'changed.com', { registrar_lock: false });
  await paid();
  const info = done(await core.infoDomain(ours, { name: 'changed.com' }));
  assert.deepEqual([info.statuses, [...info.nameservers].sort()], [['ok'], nameservers]);
});

test('a change that is refused once there is credit is told to its owner by mail', async () => {
  const workspace = await owner('refused-later.com');
  refuse('domain:update');
  await settings(workspace, 'refused-later.com', { registrar_lock: true });
  // While another registrar asks for it the registry changes nothing of it.
  await requestTransfer('refused-later.com');
  mails.length = 0;
  await paid();
  const [mail] = mails.filter(({ subject }) => subject === 'The settings of refused-later.com were not changed');
  assert.match(mail?.text ?? '', /being transferred|has not finished something else/);
  assert.ok(!(await statusesOf('refused-later.com')).includes('clientTransferProhibited'));
});

test('a deletion is pending, and is done once there is credit', async () => {
  const workspace = await owner('deleted.com');
  refuse('domain:delete');
  const answer = await workspace.delete('/domains/deleted.com');
  assert.deepEqual([answer.status, answer.body.status], [200, 'Pending'], answer.text);
  clock.advance(HOUR_MS);
  await domains.resendDeletions();
  assert.equal((await workspace.get('/domains')).body.domains.length, 1);
  await paid();
  assert.deepEqual((await workspace.get('/domains')).body.domains, []);
});

test('a transfer in keeps its money, and is asked for once there is credit', async () => {
  await core.createContact(theirs, testContact('COMES'));
  done(
    await core.createDomain(theirs, {
      name: 'comes.com',
      years: 1,
      registrant: 'COMES',
      authInfo: 'the-code-of-comes',
    }),
  );
  const workspace = await owner();
  refuse('domain:transfer');
  const body = { auth_code: 'the-code-of-comes', confirm_price };
  const answer = await workspace.post('/domains/comes.com/transfer', body);
  assert.deepEqual([answer.status, answer.body.status], [201, 'Pending'], answer.text);
  await paid();
  assert.ok((await statusesOf('comes.com')).includes('pendingTransfer'));
});

test('a decision about a transfer is sent again once there is credit', async () => {
  const workspace = await owner('asked-for.com');
  await workspace.get('/domains/asked-for.com');
  await requestTransfer('asked-for.com');
  await later(1_000);
  await domains.watchTransfers();
  let refusals = 0;
  deliver(({ kind, registrarId }) => {
    if (kind !== 'domain:transfer' || registrarId !== ours.registrarId || refusals > 0) return undefined;
    refusals += 1;
    return { kind: 'refused', code: 2104 };
  });
  const answer = await workspace.post('/domains/asked-for.com/transfer-out/reject', {});
  assert.deepEqual([answer.status, answer.body.status], [200, 'Pending'], answer.text);
  await paid();
  assert.equal(refusals, 1);
  assert.ok(!(await statusesOf('asked-for.com')).includes('pendingTransfer'));
});

test('an auth code comes by mail once there is credit, and is nowhere until then', async () => {
  const workspace = await owner('coded.com');
  mails.length = 0;
  refuse('domain:update');
  const answer = await workspace.post('/domains/coded.com/auth-code');
  assert.deepEqual([answer.status, answer.body.status, mails], [200, 'Pending', []], answer.text);
  await paid();
  const { authInfo } = done(await core.infoDomain(ours, { name: 'coded.com' }));
  const codes = mails.filter(({ subject }) => subject === 'Auth code of coded.com');
  assert.equal(codes.length, 1);
  assert.ok(codes[0]?.text.includes(`\n${authInfo}\n`));
});
