/** A registry that answers about one name with what it has of another, in the transaction that was asked for, over EPP. */
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { startDomainsOverEpp } from '../../../test/support/domains-over-epp.ts';
import { done } from '../../../test/support/simulated-registry.ts';
import { readBill } from '../registry/simulated/index.ts';
import { auditLedger } from '../wallet/index.ts';

const HOUR_MS = 3_600_000;
const confirm_price = 11.9;

const service = await startDomainsOverEpp();
const { core, ours } = service.epp;
const { db, deliver, later, owner } = service;
after(() => service.close());
afterEach(async () => {
  await service.letNamesGo();
  deliver(undefined);
  assert.deepEqual(await auditLedger(db), []);
});

/** The answer to the next question about that name, but for its transaction. */
async function recordInfo(name: string, look: () => Promise<unknown>): Promise<string> {
  let found = '';
  deliver((command) =>
    command.kind === 'domain:info' && command.name === name
      ? { kind: 'altered', alter: (xml) => (found = xml) }
      : undefined,
  );
  await look();
  deliver(undefined);
  assert.match(found, /infData/);
  return found;
}

const ofTransaction = (xml: string, answer: string) =>
  xml.replace(/<clTRID>[^<]*/, /<clTRID>[^<]*/.exec(answer)?.[0] ?? '');

test('what a customer does with a name never reaches that of another', async () => {
  const [attacker, victim] = [await owner('attacker.com'), await owner('victim.com')];
  await victim.patch('/domains/victim.com/settings', { nameservers: ['ns1.victim.example', 'ns2.victim.example'] });
  const stateOf = async () => {
    const { nameservers, statuses } = done(await core.infoDomain(ours, { name: 'victim.com' }));
    return { nameservers, statuses };
  };
  const before = await stateOf();
  await later(HOUR_MS);
  const infoOfVictim = await recordInfo('victim.com', () => victim.get('/domains/victim.com'));
  await later(HOUR_MS);
  deliver((command) =>
    command.kind === 'domain:info' && command.name === 'attacker.com'
      ? { kind: 'altered', alter: (answer) => ofTransaction(infoOfVictim, answer) }
      : undefined,
  );
  const settings = (body: object) => attacker.patch('/domains/attacker.com/settings', body);
  for (const body of [{ registrar_lock: false }, { nameservers: ['ns1.evil.example', 'ns2.evil.example'] }]) {
    const { body: answer, status } = await settings(body);
    assert.deepEqual([status, answer.error], [500, 'internal']);
  }
  await attacker.post('/domains/attacker.com/auth-code', {});
  assert.doesNotMatch((await attacker.get('/domains/attacker.com')).text, /victim/);
  assert.doesNotMatch((await (await fetch(`${service.url}/rdap/domain/attacker.com`)).text()).toLowerCase(), /victim/);
  assert.deepEqual(await stateOf(), before);
  deliver(undefined);
  assert.equal((await settings({ registrar_lock: false })).status, 200);
});

test('a registration whose answers are about another name stays open, and its money held, until the registry is heard', async () => {
  const [buyer, holder] = [await owner(), await owner('held.com')];
  await later(HOUR_MS);
  const infoOfHeld = await recordInfo('held.com', () => holder.get('/domains/held.com'));
  deliver((command) => {
    if (command.name !== 'lost.com') return undefined;
    if (command.kind === 'domain:create') return { kind: 'silent' };
    return command.kind === 'domain:info'
      ? { kind: 'altered', alter: (answer) => ofTransaction(infoOfHeld, answer) }
      : undefined;
  });
  const bought = await buyer.post('/domains', { domain: 'lost.com', confirm_price });
  assert.deepEqual([bought.status, bought.body.status], [201, 'Pending'], bought.text);
  service.cutConnections();
  for (let count = 0; count < 5; count += 1) await later(HOUR_MS);
  const order = async () => (await buyer.get(`/orders/${bought.body.order_id}`)).body.status;
  assert.equal(await order(), 'Pending');
  deliver(undefined);
  for (let count = 0; count < 5; count += 1) await later(HOUR_MS);
  assert.equal(await order(), 'Completed');
  assert.equal((await readBill(db, ours.registrarId)).filter(({ name }) => name === 'lost.com').length, 1);
});
