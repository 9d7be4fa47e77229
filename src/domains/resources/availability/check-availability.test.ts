import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { standardPrices } from '../../../../test/support/prices.ts';
import { systemClock } from '../../../kernel/clock/clock.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { Availability, Registry } from '../../registry/registry.ts';
import { systemDb } from '../../workspace-scope.ts';
import { checkAvailability, DEFAULT_TLDS } from './check-availability.ts';
import { createNameLookUp } from './look-up-names.ts';

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

/** What the registry says of names; of others it says that they are free. */
const said = new Map<string, Omit<Availability, 'name'>>();
const asked: (readonly string[])[] = [];
beforeEach(() => {
  said.clear();
  asked.length = 0;
});

const registry = {
  async check(names: readonly string[]): Promise<Availability[]> {
    asked.push(names);
    return names.map((name) => ({ name, availability: 'available', ...said.get(name) }));
  },
};

const parts = { prices: standardPrices, clock: systemClock };

/** Remembers nothing of what it was asked before. */
function lookUpIn(source: Pick<Registry, 'check'>) {
  return createNameLookUp({ registry: source, db: database.db, clock: systemClock });
}

async function checkAll(query: string) {
  return (await checkAvailability({ ...parts, lookUp: lookUpIn(registry) }, query)).results;
}

async function checkOne(query: string) {
  const [result, ...others] = await checkAll(query);
  assert.ok(result !== undefined && others.length === 0);
  return result;
}

test('a free name is available, at its price', async () => {
  assert.deepEqual(await checkOne('Example-Name.COM.'), {
    domain: 'example-name.com',
    available: true,
    status: 'available',
    reason: null,
    price: { currency: 'EUR', register: 11.9, renew: 11.9, transfer: 11.9, min_years: 1, max_years: 10 },
  });
});

test('a name without a TLD is looked up under several, in one question to the registry', async () => {
  said.set('bluecafe.io', { availability: 'taken', reason: 'In use' });
  const results = await checkAll('BlueCafe');
  const names = DEFAULT_TLDS.map((tld) => `bluecafe.${tld}`);
  assert.deepEqual(
    results.map(({ domain }) => domain),
    names,
  );
  assert.deepEqual(asked, [names]);
  for (const { domain, available } of results) assert.equal(available, domain !== 'bluecafe.io', domain);
});

test('no answer in time is unknown, and never available', async () => {
  said.set('slow.dev', { availability: 'unknown' });
  const { available, status, reason, price } = await checkOne('slow.dev');
  assert.deepEqual([available, status, price?.register], [null, 'unknown', 12.9]);
  assert.match(reason ?? '', /Ask again/);
});

test('a name that the registry’s answer leaves out is unknown', async () => {
  const silent = { check: async () => [] };
  const { results } = await checkAvailability({ ...parts, lookUp: lookUpIn(silent) }, 'left-out');
  for (const { available, status } of results) assert.deepEqual([available, status], [null, 'unknown']);
});

test('what is taken, kept back or not offered is not available, with a reason', async () => {
  said.set('taken.org', { availability: 'taken' });
  said.set('kept.org', { availability: 'reserved', reason: 'Reserved name' });
  said.set('nic.org', { availability: 'reserved' });
  const answers: unknown[] = [];
  for (const name of ['taken.org', 'kept.org', 'nic.org', 'example.museum']) {
    const { available, status, reason, price } = await checkOne(name);
    assert.equal(available, false);
    answers.push([status, reason, price === null]);
  }
  assert.deepEqual(answers, [
    ['taken', 'The name is registered.', false],
    ['reserved', 'The registry keeps this name back.', false],
    ['reserved', 'The registry keeps this name back.', false],
    ['unsupported_tld', 'Names under `.museum` are not offered. GET /tlds lists the TLDs that are.', true],
  ]);
  assert.deepEqual(asked, [['taken.org'], ['kept.org'], ['nic.org']]);
});

test('a name that a workspace has or is acquiring is taken, whatever the registry says, until it is gone', async () => {
  const workspaceId = mintId('wsp');
  const db = systemDb(database.db);
  await db.insertInto('workspaces').values({ id: workspaceId, name: 'Test' }).execute();
  const statuses: unknown[] = [];
  for (const state of ['acquiring', 'active', 'gone'] as const) {
    const row = { workspace_id: workspaceId, id: mintId('dom'), name: `${state}-here.com`, state } as const;
    await db
      .insertInto('domains')
      .values({ ...row, added_via: 'registration' })
      .execute();
    // Whose it is stays unsaid: the answer is the one that another registrar's name gets.
    const { status, reason } = await checkOne(row.name);
    statuses.push([status, reason]);
  }
  const taken = ['taken', 'The name is registered.'];
  assert.deepEqual(statuses, [taken, taken, ['available', null]]);
});

test('a name beyond ASCII is answered in both forms', async () => {
  const { domain, unicode } = await checkOne('bücher.de');
  assert.deepEqual([domain, unicode], ['xn--bcher-kva.de', 'bücher.de']);
  const [, second] = await checkAll('xn--bcher-kva');
  assert.deepEqual([second?.domain, second?.unicode], ['xn--bcher-kva.net', 'bücher.net']);
});
