/** What becomes of the adapter's commands when the wire to the registry is cut. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import {
  openTestEpp,
  openWire,
  rejectionOf,
  type TestEpp,
  testCreation,
  type Wire,
} from '../../../../test/support/epp.ts';
import { eventually } from '../../../../test/support/turns.ts';
import type { SingleRegistry } from '../registry.ts';

let database: TestDatabase;
let epp: TestEpp;
let wire: Wire;
let wired: SingleRegistry;

before(async () => {
  database = await openTestDatabase();
  epp = await openTestEpp(database.db, { delays: { createSeconds: 0, renewSeconds: 0 } });
  wire = await openWire(epp.server.port);
  wired = await epp.connect({ port: wire.port });
});
after(async () => {
  await epp.close();
  await wire.close();
  await database.close();
});

test('a wire cut before the answer leaves an unknown outcome, and info finds it', async (t) => {
  const name = 'cut-off.com';
  await t.test('create', async () => {
    const cutting = cutAtDomainCommand();
    const outcome = await wired.create(testCreation(name));
    cutting();
    assert.equal(outcome.kind, 'unknown');
    assert.match(outcome.kind === 'unknown' ? outcome.reason : '', new RegExp(`no answer to ord_${name}\\.create`));
    assert.equal((await wired.info(name))?.isOurs, true);
    assert.equal(rejectionOf(await wired.create(testCreation(name))), 'object_exists');
  });
  await t.test('renew', async () => {
    const currentExpiresAt = (await wired.info(name))?.expiresAt ?? '';
    const command = { name, transactionId: 'ren-2', years: 1, currentExpiresAt };
    wire.cutNextAnswer();
    assert.equal((await wired.renew(command)).kind, 'unknown');
    assert.notEqual((await wired.info(name))?.expiresAt, currentExpiresAt);
    assert.equal(rejectionOf(await wired.renew(command)), 'wrong_expiry');
  });
  await t.test('transfer', async () => {
    const command = { name: 'taken-cut.com', transactionId: 'tra-3', authCode: 'simulated-auth', years: 1 };
    wire.cutNextAnswer();
    assert.equal((await wired.transfer(command)).kind, 'unknown');
    assert.equal(rejectionOf(await wired.transfer(command)), 'pending_transfer');
  });
  await t.test('delete', async () => {
    wire.cutNextAnswer();
    assert.equal((await wired.delete({ name, transactionId: 'del-5' })).kind, 'unknown');
    assert.equal(await wired.info(name), undefined);
  });
});

/** Drops the answer to the next domain:create; contacts and hosts before it are answered. */
function cutAtDomainCommand(): () => void {
  const { createDomain } = epp.core;
  const core: { createDomain: typeof createDomain } = epp.core;
  core.createDomain = async (...parameters) => {
    const reply = await createDomain(...parameters);
    wire.cutNextAnswer();
    return reply;
  };
  return () => {
    core.createDomain = createDomain;
  };
}

test('reads are asked again over a new connection when the wire is cut', async () => {
  const name = 'read-again.com';
  await wired.create(testCreation(name));
  const before = wire.connections;
  wire.cutNextAnswer();
  assert.equal((await wired.info(name))?.name, name);
  wire.cutNextAnswer();
  assert.equal((await wired.check([name]))[0]?.availability, 'taken');
  wire.cutNextAnswer();
  await wired.acknowledge('999999');
  assert.equal(wire.connections, before + 3);
});

test('a registry out of reach leaves reads unavailable and changes unknown, and serves again when it is back', async () => {
  const impatient = await epp.connect({ port: wire.port, queueTimeoutMs: 300 });
  const found = () =>
    impatient
      .info('nobody.com')
      .then((domain) => ({ domain }))
      .catch(() => undefined);
  // A busy machine may take longer than that to answer.
  assert.equal((await eventually(found, 'the registry is asked')).domain, undefined);
  wire.setDown(true);
  const [info, poll, [check], deletion] = await Promise.all([
    impatient.info('nobody.com').catch((error: Error) => error.name),
    impatient.poll().catch((error: Error) => error.name),
    impatient.check(['nobody.com']),
    impatient.delete({ name: 'nobody.com', transactionId: 'del-6' }),
  ]);
  assert.deepEqual([info, poll], ['RegistryUnavailable', 'RegistryUnavailable']);
  assert.equal(check?.availability, 'unknown');
  assert.equal(deletion.kind === 'unknown' && deletion.reason.startsWith('not sent'), true);
  wire.setDown(false);
  // Whoever asks before there is a connection is told at once that there is none.
  const answer = await eventually(found, 'the registry is asked again');
  assert.equal(answer.domain, undefined);
});
