/** Two processes at once: two cores over the same rows. Only the server's store runs their transactions side by side. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeOnEachStore } from '../../../../test/support/database.ts';
import { DAY_MS, done, openTestRegistry, testPrices } from '../../../../test/support/simulated-registry.ts';
import { createRegistryCore, type Reply } from './index.ts';

function codesOf(replies: readonly Reply<unknown>[]): number[] {
  return replies.map(({ code }) => code).sort();
}

describeOnEachStore('two at once', {}, (current) => {
  async function openTwo() {
    const { db } = current();
    const registry = await openTestRegistry(db, { delays: { createSeconds: 0 } });
    const other = createRegistryCore({ db, clock: registry.clock, prices: testPrices, delays: { createSeconds: 0 } });
    return { ...registry, cores: [registry.core, other, registry.core, other] };
  }

  test('of creates of one name one wins', async () => {
    const { core, cores, ours, registrant, theirRegistrant, theirs } = await openTwo();
    const name = 'contended.com';
    const replies = await Promise.all(
      cores.map((each, index) => {
        const isOurs = index % 2 === 0;
        const command = { name, years: 1, registrant: isOurs ? registrant : theirRegistrant, authInfo: 'some-code' };
        return each.createDomain(isOurs ? ours : theirs, command);
      }),
    );
    assert.deepEqual(codesOf(replies), [1000, 2302, 2302, 2302]);
    const winner = replies.findIndex(({ ok }) => ok) % 2 === 0 ? ours : theirs;
    assert.equal(done(await core.infoDomain(ours, { name })).sponsor, winner.registrarId);
  });

  test('of renewals of one term one wins', async () => {
    const { clock, core, cores, ours, register } = await openTwo();
    await register('renewed-twice.com');
    const command = { name: 'renewed-twice.com', currentExpiryDate: '2027-03-01', years: 1 };
    const replies = await Promise.all(cores.map((each) => each.renewDomain(ours, command)));
    assert.deepEqual(codesOf(replies), [1001, 2304, 2304, 2304]);
    clock.advance(1_000);
    await Promise.all(cores.map((each) => each.runDue()));
    const info = done(await core.infoDomain(ours, { name: 'renewed-twice.com' }));
    assert.equal(info.expiresAt.toISOString(), '2028-03-01T12:00:00.000Z');
  });

  test('of renewals of one term that are done at once one wins', async () => {
    const { db } = current();
    const { clock, core, ours, register } = await openTestRegistry(db, {
      delays: { createSeconds: 0, renewSeconds: 0 },
    });
    const other = createRegistryCore({ db, clock, prices: testPrices, delays: { renewSeconds: 0 } });
    await register('renewed-at-once.com');
    const command = { name: 'renewed-at-once.com', currentExpiryDate: '2027-03-01', years: 1 };
    const replies = await Promise.all([core, other, core].map((each) => each.renewDomain(ours, command)));
    assert.deepEqual(codesOf(replies), [1000, 2004, 2004]);
  });

  test('what is due is done once, with one message', async () => {
    const { clock, cores, drain, ours, register } = await openTwo();
    for (const index of [1, 2, 3, 4, 5]) await register(`due-${index}.com`);
    clock.advance(366 * DAY_MS);
    await Promise.all([
      ...cores.map((each) => each.runDue()),
      ...cores.map((each) => each.infoDomain(ours, { name: 'due-3.com' })),
    ]);
    const texts = (await drain(ours)).map(({ text }) => text).sort();
    assert.deepEqual(
      texts,
      [1, 2, 3, 4, 5].map((index) => `Term ended, name on hold: due-${index}.com`),
    );
  });

  test('a name that is taken elsewhere comes into being once', async () => {
    const { cores, ours } = await openTwo();
    const infos = await Promise.all(cores.map((each) => each.infoDomain(ours, { name: 'taken-together.com' })));
    assert.equal(new Set(infos.map((info) => done(info).roid)).size, 1);
  });

  test('a host is not deleted while a name is being delegated to it', async () => {
    const { core, cores, ours, register } = await openTwo();
    await register('delegating.com');
    const name = 'delegating.com';
    done(await core.createHost(ours, { name: 'ns1.racing.net', addresses: [] }));
    const [deleted, delegated] = await Promise.all([
      core.deleteHost(ours, { name: 'ns1.racing.net' }),
      (cores[1] ?? core).updateDomain(ours, { name, nameservers: { set: ['ns1.racing.net'] } }),
    ]);
    const outcomes = `${deleted.code} ${delegated.code}`;
    assert.ok(outcomes === '1000 2303' || outcomes === '2305 1000', outcomes);
  });
});
