import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { noteStatements } from '../../../../test/support/noted-database.ts';
import { createManualClock } from '../../../kernel/clock/clock.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { Availability } from '../../registry/registry.ts';
import { systemDb } from '../../workspace-scope.ts';
import { createNameLookUp } from './look-up-names.ts';

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

/** A look-up beside a registry that notes what it is asked, and answers each question when it is told to. */
function openLookUp() {
  const clock = createManualClock(new Date('2026-01-01T00:00:00Z'));
  const asked: (readonly string[])[] = [];
  const says = { availability: 'available' as Availability['availability'], until: Promise.resolve() };
  const registry = {
    async check(names: readonly string[]): Promise<Availability[]> {
      asked.push(names);
      const { availability, until } = says;
      await until;
      return names.map((name) => ({ name, availability }));
    },
  };
  const { db, seen } = noteStatements(database.db);
  const lookUp = createNameLookUp({ db, registry, clock });
  const statusOf = async (name: string) => {
    const [found] = await lookUp([{ ascii: name, tld: name.slice(name.indexOf('.') + 1) }]);
    return found?.availability;
  };
  return { clock, asked, says, seen, statusOf };
}

async function untilAsked(asked: readonly unknown[]): Promise<void> {
  while (asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
}

const newName = (tld = 'com') => `${mintId('n').replace('_', '-')}.${tld}`;

/** A name that a workspace is acquiring; `end` ends that without it. */
async function acquire(name: string) {
  const db = systemDb(database.db);
  const row = { workspace_id: mintId('wsp'), id: mintId('dom'), name, added_via: 'registration' } as const;
  await db.insertInto('workspaces').values({ id: row.workspace_id, name: 'Test' }).execute();
  await db
    .insertInto('domains')
    .values({ ...row, state: 'acquiring' })
    .execute();
  return async (at = new Date()) => {
    await db.updateTable('domains').set({ state: 'gone', gone_at: at }).where('id', '=', row.id).execute();
  };
}

test('whoever asks for a name while it is asked for, or soon after, shares one question', async () => {
  const { asked, clock, statusOf, seen } = openLookUp();
  const name = newName();
  assert.deepEqual(await Promise.all([statusOf(name), statusOf(name), statusOf(name)]), Array(3).fill('available'));
  assert.equal(seen.length, 1, 'and one statement');
  clock.advance(1_999);
  assert.equal(await statusOf(name), 'available');
  assert.deepEqual(asked, [[name]]);
});

test('what the registry said counts for two seconds', async () => {
  const { asked, clock, statusOf, says } = openLookUp();
  const name = newName();
  await statusOf(name);
  says.availability = 'taken';
  clock.advance(2_000);
  assert.equal(await statusOf(name), 'taken');
  assert.equal(asked.length, 2);
});

test('its age counts from the question, however late the answer comes', async () => {
  const { asked, clock, statusOf, says } = openLookUp();
  const name = newName();
  const { promise, resolve } = Promise.withResolvers<void>();
  says.until = promise;
  const first = statusOf(name);
  await untilAsked(asked);
  clock.advance(2_000);
  resolve();
  await first;
  await statusOf(name);
  assert.equal(asked.length, 2);
});

test('no answer is not remembered', async () => {
  const { asked, statusOf, says } = openLookUp();
  const name = newName();
  says.availability = 'unknown';
  assert.equal(await statusOf(name), 'unknown');
  says.availability = 'available';
  assert.equal(await statusOf(name), 'available');
  assert.equal(asked.length, 2);
});

test('a name of ours is taken at once, and the registry is not asked about it', async () => {
  const { asked, statusOf } = openLookUp();
  const name = newName();
  assert.equal(await statusOf(name), 'available');
  await acquire(name);
  assert.equal(await statusOf(name), 'taken');
  assert.equal(asked.length, 1);
});

test('once a name has left us, or was not got, the registry is asked anew', async () => {
  const { asked, statusOf, says } = openLookUp();
  const name = newName();
  for (const answer of ['available', 'taken', 'available'] as const) {
    says.availability = answer;
    assert.equal(await statusOf(name), answer);
    const end = await acquire(name);
    assert.equal(await statusOf(name), 'taken');
    await end();
  }
  assert.equal(asked.length, 3);
});

test('names of one TLD that are asked for together go in one question, and wait for no other TLD', async () => {
  const { asked, statusOf, says } = openLookUp();
  const { promise, resolve } = Promise.withResolvers<void>();
  says.until = promise;
  const slow = newName('org');
  const waiting = statusOf(slow);
  await untilAsked(asked);
  says.until = Promise.resolve();
  const names = [newName(), newName(), newName()];
  const others = [newName('net'), newName('net')];
  const answers = await Promise.all([...names, ...others].map(statusOf));
  assert.deepEqual(answers, Array(5).fill('available'));
  assert.deepEqual(asked, [[slow], names, others]);
  resolve();
  assert.equal(await waiting, 'available');
});
