/** A registry that answers, but for what it is asked about one name, over EPP: that name alone waits. */
import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, test } from 'node:test';
import type { TestWorkspace } from '../../../test/support/domains.ts';
import { startDomainsOverEpp } from '../../../test/support/domains-over-epp.ts';
import { THEIR_PASSWORD } from '../../../test/support/epp.ts';
import { DAY_MS } from '../../../test/support/orders.ts';
import { done } from '../../../test/support/simulated-registry.ts';
import { createOperator } from '../operator/index.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const service = await startDomainsOverEpp();
after(() => service.close());
afterEach(() => service.letNamesGo());
const { db, deliver, later, owner } = service;
const { clock, core, ours, theirs } = service.epp;
const other = await service.epp.connect({ clientId: theirs.registrarId, password: THEIR_PASSWORD });
const operator = createOperator({ db, clock });

beforeEach(() => deliver(undefined));

function failFor(...names: readonly string[]): void {
  deliver(({ kind, name }) =>
    kind === 'domain:info' && names.includes(name) ? { kind: 'refused', code: 2400 } : undefined,
  );
}

async function rowsOf({ workspaceId }: TestWorkspace) {
  const rows = await workspaceDb(db, workspaceId).selectFrom('domains').selectAll().orderBy('name').execute();
  return new Map(rows.map((row) => [row.name, row]));
}

/** The registry gives them to another registrar, whom nobody has refused them, and tells us by a message each. */
async function moveAway(...names: readonly string[]): Promise<void> {
  for (const name of names) {
    const { authInfo = '' } = done(await core.infoDomain(ours, { name }));
    const { kind } = await other.transfer({ name, authCode: authInfo, years: 1, transactionId: `trn_${name}` });
    assert.equal(kind, 'pending');
    clock.advance(1_000);
  }
  clock.advance(5 * DAY_MS);
  for (const name of names) {
    assert.equal(done(await core.infoDomain(theirs, { name })).sponsor, theirs.registrarId);
  }
}

const deferred = async () => {
  const rows = await systemDb(db).selectFrom('deferred_messages').select('name').execute();
  return rows.map(({ name }) => name);
};

test('names are read each day, also behind many about which the registry gives no answer', async () => {
  const failing = ['a1.com', 'a2.com', 'a3.com', 'a4.com'];
  const workspace = await owner(...failing);
  clock.advance(HOUR_MS);
  await workspace.post('/domains', { domain: 'b1.com', confirm_price: 11.9 });
  failFor(...failing);
  const since = clock.now();
  await later(DAY_MS + HOUR_MS);
  const rows = await rowsOf(workspace);
  assert.ok((rows.get('b1.com')?.synced_at ?? since) > since, 'it was read');
  for (const name of failing) assert.ok((rows.get(name)?.synced_at ?? since) <= since, name);
  deliver(undefined);
  await later(11 * MINUTE_MS);
  for (const [name, row] of await rowsOf(workspace)) assert.ok((row.synced_at ?? since) > since, name);
});

test('a registry that gives no answer about three names in a row is asked about no more of them for now', async () => {
  const names = ['e1.com', 'e2.com', 'e3.com', 'e4.com', 'e5.com'];
  await owner(...names);
  clock.advance(DAY_MS + HOUR_MS);
  const asked: string[] = [];
  deliver(({ kind, name = '' }) => {
    if (kind !== 'domain:info') return undefined;
    asked.push(name);
    return { kind: 'refused', code: 2400 };
  });
  // Two looks: three names, and the others.
  await later(0);
  assert.deepEqual(asked, names);
});

test('messages behind one about which the registry gives no answer are read, and that one is followed later', async () => {
  const workspace = await owner('c1.com', 'c2.com');
  await moveAway('c1.com', 'c2.com');
  failFor('c1.com');
  await later(0);
  const isAnnounced = async (name: string) => (await rowsOf(workspace)).get(name)?.missing_announced;
  assert.deepEqual([await deferred(), await isAnnounced('c2.com')], [['c1.com'], true]);
  await later(MINUTE_MS);
  assert.deepEqual([await deferred(), await isAnnounced('c1.com')], [['c1.com'], false]);
  deliver(undefined);
  await later(MINUTE_MS);
  assert.deepEqual([await deferred(), await isAnnounced('c1.com')], [[], true]);
  assert.deepEqual((await operator.unknown_messages({})).messages, []);
});

test('a message that cannot be followed for a day waits for the operator', async () => {
  await owner('d1.com');
  await moveAway('d1.com');
  failFor('d1.com');
  await later(0);
  await later(DAY_MS);
  assert.deepEqual(await deferred(), []);
  const { messages } = await operator.unknown_messages({});
  assert.deepEqual(
    messages.map(({ name }) => name),
    ['d1.com'],
  );
});
