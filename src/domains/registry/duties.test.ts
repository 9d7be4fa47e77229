import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openTestDatabase } from '../../../test/support/database.ts';
import { createManualClock } from '../../kernel/clock/clock.ts';
import { doDuty, expectMessages } from './duties.ts';

const database = await openTestDatabase();
after(() => database.close());
const { db } = database;
const clock = createManualClock(new Date('2031-01-01T00:00:00Z'));
const SECOND_MS = 1_000;

/** What a process does that would read the messages now. */
async function read(registry: string, isFound = false): Promise<boolean> {
  let isRead = false;
  await doDuty({ db, clock }, { registry, duty: 'messages' }, async () => {
    isRead = true;
    return isFound;
  });
  return isRead;
}

test('an empty queue is looked into less and less often, up to once a minute, until there is something', async () => {
  const pauses: number[] = [];
  await read('paused');
  for (let waited = 1; pauses.length < 8; waited += 1) {
    clock.advance(SECOND_MS);
    if (!(await read('paused'))) continue;
    pauses.push(waited);
    waited = 0;
  }
  assert.deepEqual(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);

  assert.equal(await read('paused'), false);
  await expectMessages(db, 'paused', clock.now());
  assert.equal(await read('paused', true), true, 'a message is expected');
  assert.equal(await read('paused'), true, 'there was one, so there may be more');
  assert.equal(await read('other'), true, 'each registry by itself');
});

test('one process at a time reads, for as long as it works, and another once it has died', async () => {
  const [begun, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const kept: boolean[] = [];
  const working = doDuty({ db, clock }, { registry: 'held', duty: 'messages' }, async ({ isKept }) => {
    begun.resolve();
    await finish.promise;
    kept.push(await isKept());
    return true;
  });
  await begun.promise;
  assert.equal(await read('held'), false);
  clock.advance(50 * SECOND_MS);
  assert.equal(await read('held'), false);
  finish.resolve();
  await working;
  assert.deepEqual(kept, [true]);

  await doDuty({ db, clock }, { registry: 'held', duty: 'messages' }, async ({ isKept }) => {
    clock.advance(61 * SECOND_MS);
    assert.equal(await read('held'), true, 'it has not been heard of for a minute');
    assert.equal(await isKept(), false);
    return true;
  });
});
