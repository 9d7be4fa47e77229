/** A change of a locked name, over EPP, whose registry takes the command that unlocks it and no more commands for a while. */
import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, test } from 'node:test';
import type { TestWorkspace } from '../../../test/support/domains.ts';
import { startDomainsOverEpp } from '../../../test/support/domains-over-epp.ts';
import { done } from '../../../test/support/simulated-registry.ts';
import { eventually } from '../../../test/support/turns.ts';
import type { ChooseDelivery } from '../registry/epp/index.ts';
import { workspaceDb } from '../workspace-scope.ts';
import { dropDone, noteChange } from './index.ts';

const HOUR_MS = 3_600_000;
const LOCKED = ['clientDeleteProhibited', 'clientTransferProhibited', 'clientUpdateProhibited'];
const NAMESERVERS = ['ns1.elsewhere.test', 'ns2.elsewhere.test'];

const service = await startDomainsOverEpp({ endpoint: { limitDelayMs: 1, reconnectDelayMs: 1 } });
after(() => service.close());
afterEach(() => service.letNamesGo());
const { db, deliver, domains, later, owner } = service;
const { clock, core, ours } = service.epp;

beforeEach(() => deliver(undefined));

/** Changes of names that the registry was sent since the last `takeUpdates`. */
let sent = 0;

/** So many more changes of names are made, and then what this says. */
function takeUpdates(count: number, then: ReturnType<ChooseDelivery>): void {
  sent = 0;
  deliver(({ kind }) => {
    if (kind !== 'domain:update') return undefined;
    sent += 1;
    return sent > count ? then : undefined;
  });
}

async function lockedName(name: string): Promise<TestWorkspace> {
  const workspace = await owner(name);
  await workspace.patch(`/domains/${name}/settings`, { registrar_lock: true });
  assert.deepEqual((await read(name)).statuses, LOCKED);
  return workspace;
}

async function read(name: string) {
  const { nameservers, statuses } = done(await core.infoDomain(ours, { name }));
  return { nameservers: [...nameservers].sort(), statuses: [...statuses].sort() };
}

function rowOf({ workspaceId }: TestWorkspace) {
  return workspaceDb(db, workspaceId).selectFrom('domains').selectAll().executeTakeFirstOrThrow();
}

const waitingOf = async (workspace: TestWorkspace) => (await rowOf(workspace)).change_wanted;

const again = async () => {
  deliver(undefined);
  await later(HOUR_MS);
  await domains.resendChanges();
};

test('it is pending, and finished when the registry takes commands again', async () => {
  const workspace = await lockedName('limited.com');
  takeUpdates(1, { kind: 'refused', code: 2502 });
  const answer = await workspace.patch('/domains/limited.com/settings', { nameservers: NAMESERVERS });
  assert.deepEqual([answer.status, answer.body.status], [200, 'Pending'], answer.text);
  assert.ok(!(await read('limited.com')).statuses.includes('clientUpdateProhibited'), 'half of it was done');
  await again();
  assert.deepEqual(await read('limited.com'), { nameservers: NAMESERVERS, statuses: LOCKED });
  assert.equal(await waitingOf(workspace), null);
});

test('it is finished, too, where the answer to the second command is lost', async () => {
  const workspace = await lockedName('cut.com');
  takeUpdates(1, { kind: 'cut' });
  const answer = await workspace.patch('/domains/cut.com/settings', { nameservers: NAMESERVERS });
  assert.deepEqual([answer.status, answer.body.status], [200, 'Pending'], answer.text);
  await again();
  assert.deepEqual(await read('cut.com'), { nameservers: NAMESERVERS, statuses: LOCKED });
  assert.equal(await waitingOf(workspace), null);
});

test('a change is written down before its first command leaves, and no more once its caller knows the outcome', async () => {
  const workspace = await lockedName('noted.com');
  takeUpdates(0, { kind: 'silent' });
  const answer = workspace.patch('/domains/noted.com/settings', { nameservers: NAMESERVERS });
  await eventually(() => sent === 1 || undefined, 'the first command is on its way');
  assert.deepEqual(await waitingOf(workspace), { nameservers: NAMESERVERS });
  deliver(undefined);
  service.cutConnections();
  assert.equal((await answer).status, 500);
  await eventually(async () => (await waitingOf(workspace)) === null || undefined, 'the change is dropped');
  assert.deepEqual((await read('noted.com')).statuses, LOCKED);
});

test('what a process that ended had written down is sent by another', async () => {
  const workspace = await lockedName('left.com');
  const row = await rowOf(workspace);
  await noteChange({ db, clock }, row, { nameservers: NAMESERVERS });
  await domains.resendChanges();
  assert.notDeepEqual((await read('left.com')).nameservers, NAMESERVERS, 'it may still be at work');
  await again();
  assert.deepEqual(await read('left.com'), { nameservers: NAMESERVERS, statuses: LOCKED });
  assert.equal(await waitingOf(workspace), null);
});

test('what is done takes nothing away that was wanted meanwhile', async () => {
  const workspace = await lockedName('twice.com');
  const row = await rowOf(workspace);
  await noteChange({ db, clock }, row, { nameservers: NAMESERVERS, isPrivate: true });
  await noteChange({ db, clock }, row, { nameservers: ['ns3.elsewhere.test'] });
  await dropDone({ db }, row, { nameservers: NAMESERVERS, isPrivate: true });
  assert.deepEqual(await waitingOf(workspace), { nameservers: ['ns3.elsewhere.test'] });
});

test('a change whose first command is not taken is not known, and nothing is sent later', async () => {
  const workspace = await lockedName('unsent.com');
  takeUpdates(0, { kind: 'refused', code: 2502 });
  const answer = await workspace.patch('/domains/unsent.com/settings', { nameservers: NAMESERVERS });
  assert.deepEqual([answer.status, answer.body.error], [500, 'internal'], answer.text);
  assert.equal(await waitingOf(workspace), null);
});
