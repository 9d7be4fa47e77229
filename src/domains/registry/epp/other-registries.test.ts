/** What registries do that ours does not: reports of restorations, silence about names of others, failures of their own. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { silent, testCa, testCreation, testRegistrant } from '../../../../test/support/epp.ts';
import {
  answerWith,
  greetingOf,
  openScriptedEpp,
  type Script,
  type ScriptedEpp,
} from '../../../../test/support/scripted-epp.ts';
import { createManualClock } from '../../../kernel/clock/clock.ts';
import type { Registry } from '../registry.ts';
import type { EppCommand } from './commands/command.ts';
import {
  type DomainData,
  domainDataElement,
  pendingActionElement,
  transferElement,
} from './commands/domain-results.ts';
import { changeElement, transactionIdElements } from './commands/response.ts';
import { rgpStatusElement } from './commands/rgp.ts';
import { createEppRegistry, type EppRegistryOptions } from './index.ts';
import { DOMAIN, EPP } from './namespaces.ts';
import { contactIdOf } from './registrant-contact.ts';
import { stepOf, transactionIdOf } from './registry-link.ts';
import { element, type XmlElement } from './xml/element.ts';

const opened: { server: ScriptedEpp; registry: Registry }[] = [];
afterEach(async () => {
  for (const { server, registry } of opened.splice(0)) {
    await server.close();
    await registry.stop();
  }
});

type Answer = (command: EppCommand, clTRID: string) => string | undefined;

async function openRegistry(answer: Answer, options: Partial<EppRegistryOptions> = {}, greeting = greetingOf()) {
  const script: Script = (command, clTRID) => (command === 'hello' ? undefined : answer(command, clTRID));
  const server = await openScriptedEpp(script, greeting);
  const registry = createEppRegistry({
    host: '127.0.0.1',
    port: server.port,
    clientId: 'us',
    password: 'secret',
    tls: { ca: testCa },
    clock: createManualClock(new Date('2026-03-01T00:00:00Z')),
    logger: silent,
    reconnectDelayMs: 1,
    ...options,
  });
  opened.push({ server, registry });
  await registry.start();
  return { registry, commands: server.commands };
}

function dataOf(changes: Partial<DomainData> = {}): XmlElement {
  return domainDataElement({
    name: 'a.com',
    roid: 'A-1',
    statuses: ['ok'],
    contacts: [],
    subordinateHosts: [],
    sponsor: 'us',
    createdAt: '2025-01-01T00:00:00Z',
    expiresAt: '2027-01-01T00:00:00Z',
    ...changes,
  });
}

const named = { name: 'a.com', transactionId: 'ord-1' };

test('a registry that wants a report of a restoration gets one, also when only that is left to do', async () => {
  let status = 'redemptionPeriod';
  const restores: string[] = [];
  const { registry } = await openRegistry((command, clTRID) => {
    if (command.kind === 'domain:info') {
      return answerWith(1000, clTRID, { data: dataOf(), extensions: [rgpStatusElement('infData', [status])] });
    }
    if (command.kind !== 'domain:update' || command.restore === undefined) return undefined;
    restores.push(command.restore.operation);
    if (command.restore.operation === 'report') {
      assert.equal(command.restore.report.restoredAt, '2026-03-01T00:00:00.000Z');
      assert.equal(command.restore.report.statements.length, 2);
      return answerWith(1000, clTRID);
    }
    status = 'pendingRestore';
    return answerWith(1000, clTRID, { extensions: [rgpStatusElement('upData', [status])] });
  });
  assert.deepEqual(await registry.restore(named), { kind: 'completed' });
  assert.deepEqual(await registry.restore(named), { kind: 'completed' });
  assert.deepEqual(restores, ['request', 'report', 'report']);
});

test('a transfer is what its status says, whatever the code', async () => {
  let status = 'pending';
  const { registry } = await openRegistry((command, clTRID) => {
    if (command.kind !== 'domain:transfer') return undefined;
    const data = transferElement({
      name: 'a.com',
      status,
      requestedBy: 'us',
      requestedAt: '2026-03-01T00:00:00Z',
      actedBy: 'them',
      actedAt: '2026-03-06T00:00:00Z',
      expiresAt: '2028-01-01T00:00:00.000Z',
    });
    return answerWith(1000, clTRID, { data });
  });
  const command = { ...named, authCode: 'secret', years: 1 };
  assert.deepEqual(await registry.transfer(command), { kind: 'pending' });
  status = 'serverApproved';
  assert.deepEqual(await registry.transfer(command), { kind: 'completed', expiresAt: '2028-01-01T00:00:00.000Z' });
});

test('a name that the registry keeps to itself is another’s', async () => {
  let code = 2201;
  const { registry } = await openRegistry((command, clTRID) => {
    if (command.kind !== 'domain:info') return undefined;
    if (code !== 1000) return answerWith(code, clTRID);
    return answerWith(1000, clTRID, {
      data: dataOf({ sponsor: 'them', statuses: [], createdAt: undefined, expiresAt: undefined }),
    });
  });
  const hidden = await registry.info('a.com');
  assert.deepEqual([hidden?.isOurs, hidden?.registryId], [false, '']);
  code = 1000;
  const sparse = await registry.info('a.com');
  assert.deepEqual([sparse?.isOurs, sparse?.registryId], [false, 'A-1']);
});

test('a failure of the registry leaves changes unknown and reads unavailable', async () => {
  const { registry } = await openRegistry((command, clTRID) =>
    command.kind === 'login' || command.kind === 'logout' ? undefined : answerWith(2400, clTRID),
  );
  assert.deepEqual(await registry.delete(named), { kind: 'unknown', reason: '2400: as you say' });
  assert.equal((await registry.check(['a.com']))[0]?.availability, 'unknown');
  await assert.rejects(registry.info('a.com'), { name: 'RegistryUnavailable' });
  await assert.rejects(registry.poll(), { name: 'RegistryUnavailable' });
  await assert.rejects(registry.acknowledge('1'), { name: 'RegistryUnavailable' });
});

test('a success whose content makes no sense is unknown, and a check of other names too', async () => {
  const nonsense = element(DOMAIN, 'renData', [element(DOMAIN, 'name', 'a.com'), element(DOMAIN, 'exDate', 'soon')]);
  const { registry } = await openRegistry((command, clTRID) => {
    if (command.kind === 'domain:renew') return answerWith(1000, clTRID, { data: nonsense });
    return command.kind === 'domain:check' ? answerWith(1000, clTRID, { data: element(DOMAIN, 'chkData') }) : undefined;
  });
  const renewal = await registry.renew({ ...named, years: 1, currentExpiresAt: '2027-01-01T00:00:00Z' });
  assert.equal(renewal.kind, 'unknown');
  assert.deepEqual(await registry.check(['a.com']), [{ name: 'a.com', availability: 'unknown' }]);
});

for (const code of [1002, 1300, 1301, 1500, 1999]) {
  test(`a change that is answered with ${code} is neither done nor refused`, async () => {
    const isQuery = ({ kind }: EppCommand) => /:(info|check)$/.test(kind);
    const { registry } = await openRegistry((command, clTRID) => {
      if (command.kind === 'login' || command.kind === 'logout') return undefined;
      if (command.kind === 'domain:info') return answerWith(1000, clTRID, { data: dataOf({ registrant: 'C-1' }) });
      return answerWith(isQuery(command) ? 1000 : code, clTRID);
    });
    const years = 1;
    for (const outcome of [
      await registry.create({ ...testCreation('a.com'), nameservers: [] }),
      await registry.renew({ ...named, years, currentExpiresAt: '2027-01-01T00:00:00Z' }),
      await registry.transfer({ ...named, years, authCode: 'secret' }),
      await registry.decideTransfer({ ...named, decision: 'approve' }),
      await registry.update({ ...named, locked: true }),
      await registry.update({ ...named, registrant: testRegistrant }),
      await registry.restore(named),
      await registry.delete(named),
    ]) {
      assert.equal(outcome.kind, 'unknown', JSON.stringify(outcome));
    }
  });

  test(`a create alone that is answered with ${code} is neither done nor refused`, async () => {
    const { registry } = await openRegistry((command, clTRID) => {
      if (command.kind === 'login' || command.kind === 'logout') return undefined;
      return answerWith(command.kind === 'domain:create' ? code : 1000, clTRID);
    });
    const outcome = await registry.create({ ...testCreation('a.com'), nameservers: [] });
    assert.equal(outcome.kind, 'unknown', JSON.stringify(outcome));
  });
}

test('a read that needs an object whose id no command can hold is not answered', async () => {
  const { registry } = await openRegistry((command, clTRID) =>
    command.kind === 'domain:info'
      ? answerWith(1000, clTRID, { data: dataOf({ registrant: 'C-1' }) }).replace('C-1<', 'C&#13;1<')
      : undefined,
  );
  await assert.rejects(registry.info('a.com'), { name: 'RegistryUnavailable', message: /^not asked: id holds/ });
});

test('a registry that is slow to check is not waited for', async () => {
  const { registry } = await openRegistry(() => undefined, { checkTimeoutMs: 100 });
  const [found] = await registry.check(['a.com']);
  assert.equal(found?.availability, 'unknown');
});

test('what the registry does not offer is refused without asking', async () => {
  const answer: Answer = (command, clTRID) =>
    command.kind === 'domain:info' ? answerWith(1000, clTRID, { data: dataOf() }) : undefined;
  const { registry, commands } = await openRegistry(answer, {}, greetingOf([]));
  const ds = { keyTag: 1, algorithm: 13, digestType: 2, digest: 'AB'.repeat(32) };
  const update = await registry.update({ ...named, dsRecords: [ds] });
  assert.equal(update.kind === 'rejected' && update.code, 'policy');
  const restore = await registry.restore(named);
  assert.equal(restore.kind === 'rejected' && restore.code, 'policy');
  assert.ok(!commands.includes('domain:update'));
});

test('messages are classified by their data: of our own commands, of transfers, of what the registry did', async () => {
  const at = '2026-01-01T00:00:00.000Z';
  const pending = (step: string, succeeded: boolean) =>
    pendingActionElement(
      { name: 'a.com', succeeded, svTRID: 'sv', at },
      element(EPP, 'paTRID', transactionIdElements(`ord-1.${step}`, 'sv')),
    );
  const transfer = (status: string, requestedBy: string) =>
    transferElement({ name: 'a.com', status, requestedBy, requestedAt: at, actedBy: 'x', actedAt: at });
  const change = changeElement({ operation: 'autoPurge', at, svTRID: 'sv', who: 'registry' });
  const messages: [string, { data?: XmlElement; extensions?: XmlElement[] }][] = [
    ['registration_completed', { data: pending('create', true) }],
    ['registration_failed', { data: pending('create', false) }],
    ['renewal_completed', { data: pending('renew', true) }],
    ['renewal_failed', { data: pending('renew', false) }],
    ['transfer_completed', { data: pending('transfer', true) }],
    ['deleted', { data: pending('delete', true) }],
    ['other', { data: pending('something', true) }],
    ['transfer_requested', { data: transfer('pending', 'them') }],
    ['transferred_away', { data: transfer('clientApproved', 'them') }],
    ['transfer_failed', { data: transfer('clientRejected', 'us') }],
    ['transfer_out_ended', { data: transfer('clientCancelled', 'them') }],
    ['notice', { data: pending('update', false) }],
    ['deleted', { data: dataOf(), extensions: [change] }],
    ['other', { data: dataOf() }],
    ['other', {}],
  ];
  let next = 0;
  const { registry } = await openRegistry((command, clTRID) => {
    if (command.kind !== 'poll') return undefined;
    if (command.operation === 'ack') next += 1;
    const [, parts] = messages[next] ?? [];
    if (command.operation === 'ack') return answerWith(1000, clTRID);
    if (parts === undefined) return answerWith(1300, clTRID);
    return answerWith(1301, clTRID, {
      ...parts,
      queue: { count: messages.length - next, id: `m${next}`, text: 'news' },
    });
  });
  for (const [kind, parts] of messages) {
    const found = await registry.poll();
    assert.equal(found?.message.kind, kind);
    assert.equal(found?.message.name, parts.data === undefined ? '' : 'a.com');
    assert.equal(found?.message.text, 'news');
    await registry.acknowledge(found?.message.id ?? '');
  }
  assert.equal(await registry.poll(), undefined);
});

test('a message that makes no sense does not block those behind it', async () => {
  const data = element(DOMAIN, 'trnData', [element(DOMAIN, 'name', 'A.com')]);
  const { registry } = await openRegistry((command, clTRID) =>
    command.kind === 'poll'
      ? answerWith(1301, clTRID, { data, queue: { count: 1, id: '7', queuedAt: 'lately' } })
      : undefined,
  );
  const found = await registry.poll();
  assert.deepEqual(found?.message, {
    id: '7',
    queuedAt: '1970-01-01T00:00:00.000Z',
    text: 'trnData lacks trStatus',
    name: 'a.com',
    kind: 'unreadable',
  });
});

test('ids of steps differ and fit, however long the id is', () => {
  assert.equal(transactionIdOf('ord_1.2', 'create'), 'ord_1.2.create');
  const long = transactionIdOf('x'.repeat(100), 'transfer');
  assert.equal(long.length, 64);
  assert.notEqual(long, transactionIdOf(`${'x'.repeat(100)}y`, 'transfer'));
  assert.equal(stepOf(long), 'transfer');
});

test('a registrant has one contact id a name, whatever the order of the fields', () => {
  const person = { name: 'Ada', email: 'ada@example.net' };
  const id = contactIdOf('us', 'a.com', person);
  assert.match(id, /^[A-Z0-9]{3,16}$/);
  assert.equal(contactIdOf('us', 'a.com', { email: person.email, name: person.name }), id);
  const others = [
    contactIdOf('them', 'a.com', person),
    contactIdOf('us', 'b.com', person),
    contactIdOf('us', 'a.com', { ...person, city: 'London' }),
  ];
  assert.equal(new Set([id, ...others]).size, 4);
});
