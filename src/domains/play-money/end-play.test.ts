/** From a simulated registry, where new workspaces have play credit, to a real one on the same database: play credit buys nothing there. */
import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { openTestDatabase } from '../../../test/support/database.ts';
import { startDomains, type TestDomains } from '../../../test/support/domains.ts';
import { openTestEpp } from '../../../test/support/epp.ts';
import { createManualClock } from '../../kernel/clock/clock.ts';
import { createVault } from '../../kernel/vault/vault.ts';
import { createOperator } from '../operator/index.ts';
import { auditLedger } from '../wallet/index.ts';

const CONTACT = { street: '1 Mill Lane', city: 'London', postal_code: 'EC1', country: 'GB', phone: '+44.2071234567' };
const confirm_price = 11.9;

async function openPlace(t: TestContext) {
  const [database, registryDatabase] = [await openTestDatabase(), await openTestDatabase()];
  const { db } = database;
  const sharing = { db, vault: createVault([createSecretKey(randomBytes(32))]) };
  const clock = createManualClock(new Date('2030-03-01T12:00:00Z'));
  const epp = await openTestEpp(registryDatabase.db, { clock, delays: { createSeconds: 0 } });
  const running: TestDomains[] = [];
  const note = async (starting: Promise<TestDomains>) => {
    const service = await starting;
    running.push(service);
    return service;
  };
  t.after(async () => {
    for (const service of running) await service.close();
    await epp.close();
    await database.close();
    await registryDatabase.close();
  });
  return {
    db,
    operator: createOperator({ db, clock, registry: { info: async () => undefined } }),
    startSimulated: (createSeconds = 0) =>
      note(
        startDomains({ clock, sharing, simulated: { delays: { createSeconds } }, parts: { demoCreditCents: 10_000 } }),
      ),
    async startReal() {
      const adapter = await epp.connect({ db });
      return note(startDomains({ clock, sharing, registry: () => adapter }));
    },
    async stop(service: TestDomains) {
      running.splice(running.indexOf(service), 1);
      await service.close();
    },
  };
}

/** A customer of that address; gives the workspace, and its client at any of the services. */
async function signUp(service: TestDomains, email: string) {
  const { body, text } = await service.anybody.post('/accounts', { email, contact: CONTACT });
  assert.equal(body.workspace?.wallet.available_cents, 10_000, text);
  return { workspace: String(body.workspace.id), at: (one: TestDomains) => one.anybody.as(body.token.token) };
}

test('play credit and names of the simulated registry end with the first start at a real one', async (t) => {
  const { db, operator, startReal, startSimulated, stop } = await openPlace(t);
  const simulated = await startSimulated();
  const kim = await signUp(simulated, 'kim@example.com');
  const ada = await signUp(simulated, 'ada@example.com');
  await operator.top_up({ workspace: ada.workspace, cents: 5_000, note: 'invoice 17' });
  for (const [who, domain] of [[kim, 'kims-play.com'] as const, [ada, 'adas-play.com'] as const]) {
    const bought = await who.at(simulated).post('/domains', { domain, confirm_price });
    assert.equal(bought.status, 201, bought.text);
    assert.equal((await who.at(simulated).get(`/domains/${domain}`)).status, 200);
  }
  await stop(simulated);

  const real = await startReal();
  const refused = await kim.at(real).post('/domains', { domain: 'paid-by-play-money.com', confirm_price });
  assert.deepEqual([refused.status, refused.body.error], [402, 'insufficient_balance'], refused.text);
  assert.deepEqual((await kim.at(real).get('/wallet')).body, { available_cents: 0, held_cents: 0, currency: 'EUR' });
  const { movements } = (await kim.at(real).get('/wallet/ledger')).body;
  assert.deepEqual(
    movements.map(({ kind, available_change_cents }: Record<string, unknown>) => [kind, available_change_cents]),
    [
      ['void', -8_810],
      ['capture', 0],
      ['hold', -1_190],
      ['credit', 10_000],
    ],
  );
  assert.deepEqual((await kim.at(real).get('/domains')).body.domains, []);
  assert.equal((await kim.at(real).get('/domains/kims-play.com')).status, 404);
  assert.deepEqual((await operator.missing_names({})).names, []);
  assert.equal((await operator.audit_portfolio({ after: '', limit: 50 })).asked, 0);
  await assert.rejects(operator.recover_name({ name: 'kims-play.com' }), /retired from no portfolio/);

  // What was paid in stays, and pays for a real name.
  assert.equal((await ada.at(real).get('/wallet')).body.available_cents, 5_000);
  const bought = await ada.at(real).post('/domains', { domain: 'kims-play.com', confirm_price });
  assert.equal(bought.status, 201, bought.text);
  assert.deepEqual(await auditLedger(db), []);
  await stop(real);

  const again = await startReal();
  assert.equal((await ada.at(again).get('/wallet')).body.available_cents, 5_000 - 1_190);
  assert.equal((await ada.at(again).get('/domains')).body.domains.length, 1);
  assert.equal((await kim.at(again).get('/wallet/ledger')).body.movements.length, 4);
  assert.deepEqual(await auditLedger(db), []);
});

test('a service does not start at a real registry while an order holds play credit', async (t) => {
  const { db, operator, startReal, startSimulated, stop } = await openPlace(t);
  const simulated = await startSimulated(3_600);
  const kim = await signUp(simulated, 'kim@example.com');
  const placed = await kim.at(simulated).post('/domains', { domain: 'under-way.com', confirm_price });
  assert.match(placed.text, /"status":"Pending"/);
  const [order] = (await kim.at(simulated).get('/orders')).body.orders;
  await stop(simulated);

  await assert.rejects(startReal(), new RegExp(`the order ${order.id} .* domains order cancel ${order.id} `));
  assert.deepEqual(
    await operator.show_wallet({}).then((wallet) => [wallet.available_cents, wallet.held_cents]),
    [8_810, 1_190],
  );
  await operator.end_order({ id: order.id, end: 'failed', reason: 'play money' });
  const real = await startReal();
  assert.equal((await kim.at(real).get('/wallet')).body.available_cents, 0);
  assert.deepEqual(await auditLedger(db), []);
});
