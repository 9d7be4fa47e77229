import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { done, openTestRegistry, refused } from '../../../../test/support/simulated-registry.ts';
import { answerWrongly, type ChooseWrongAnswer } from './index.ts';

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

test('a command that is answered wrongly is not carried out, and the next is as if nothing had been', async () => {
  const { core, ours, register } = await openTestRegistry(database.db);
  await register('wronged.com');
  let choose: ChooseWrongAnswer = () => undefined;
  const wrong = answerWrongly(core, (command, name) => choose(command, name));
  const name = 'wronged.com';
  for (const code of [2201, 2303] as const) {
    choose = (command) => (command === 'check' ? undefined : code);
    assert.equal(refused(await wrong.infoDomain(ours, { name })), code);
    assert.equal(refused(await wrong.deleteDomain(ours, { name: 'Wronged.com' })), code);
    assert.equal(refused(await wrong.renewDomain(ours, { name, years: 1, currentExpiryDate: '2027-03-01' })), code);
    choose = () => undefined;
    assert.equal(done(await wrong.infoDomain(ours, { name })).expiresAt.toISOString(), '2027-03-01T12:00:00.000Z');
  }
  choose = (command) => (command === 'create' ? 2400 : undefined);
  const registrant = 'NOBODY';
  assert.equal(
    refused(await wrong.createDomain(ours, { name: 'failing.com', years: 1, registrant, authInfo: 'secret-1' })),
    2400,
  );
  choose = () => undefined;
  const stateOf = async () => done(await wrong.checkDomains(ours, [name, 'free.com'])).map(({ state }) => state);
  assert.deepEqual(await stateOf(), ['taken', 'available']);
  choose = (command) => (command === 'check' ? 2303 : undefined);
  assert.deepEqual(await stateOf(), ['available', 'available']);
});
