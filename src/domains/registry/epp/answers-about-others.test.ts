/** Answers with the right transaction id that are about another object: nothing is believed of them, and nothing is sent to that object. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { silent, testCa, testCreation } from '../../../../test/support/epp.ts';
import { answerWith, greetingOf, openScriptedEpp, type ScriptedEpp } from '../../../../test/support/scripted-epp.ts';
import { createManualClock } from '../../../kernel/clock/clock.ts';
import type { Registry } from '../registry.ts';
import type { EppCommand } from './commands/command.ts';
import { contactDataElement, createdContactElement } from './commands/contact.ts';
import {
  checkResultsElement,
  createdDomainElement,
  domainDataElement,
  renewedDomainElement,
  transferElement,
} from './commands/domain-results.ts';
import { createdHostElement, hostDataElement } from './commands/host.ts';
import type { Response } from './commands/response.ts';
import { type TradeData, tradeDataElement } from './commands/trade.ts';
import { createEppRegistry, type EppRegistryOptions } from './index.ts';
import { DOMAIN, EXTENSION_URIS, frnicUri, HOST } from './namespaces.ts';

const opened: { server: ScriptedEpp; registry: Registry }[] = [];
afterEach(async () => {
  for (const { server, registry } of opened.splice(0)) {
    await server.close();
    await registry.stop();
  }
});

const AT = '2026-03-01T00:00:00.000Z';
const END = '2027-03-01T00:00:00.000Z';
const FRNIC = frnicUri('2.0');
const named = { name: 'ours.com', transactionId: 'ord-1' };
const registrant = { name: 'Grace Hopper', email: 'grace@example.net', city: 'Arlington', country: 'US' };

/**
 * A registry that has `ours.com` with a host and a registrant of its own, and two nameservers elsewhere. `spell` writes the objects that answers
 * to commands of that kind are about.
 */
async function openRegistry(
  spell: (kind: EppCommand['kind'], value: string) => string,
  options: Partial<EppRegistryOptions> = {},
) {
  const sent: EppCommand[] = [];
  const partsOf = (command: EppCommand): Partial<Response> => {
    const { kind } = command;
    const write = (value: string) => spell(kind, value);
    const trade = (data: Partial<TradeData>) =>
      tradeDataElement(FRNIC, {
        ...{ name: write('ours.com'), status: 'serverApproved', requestedBy: 'us', requestedAt: AT, sponsor: 'us' },
        ...data,
      });
    switch (kind) {
      case 'domain:check':
      case 'host:check': {
        const results = command.names.map((name) => ({ value: write(name), available: true }));
        return { data: checkResultsElement(kind === 'host:check' ? HOST : DOMAIN, 'name', results) };
      }
      case 'domain:info': {
        const nameservers = { model: 'hostObj', names: ['ns1.old.net', 'ns.ours.com'] } as const;
        const data = domainDataElement({
          ...{ name: write(command.name), roid: 'A-1', statuses: ['clientUpdateProhibited'], registrant: 'C-1' },
          ...{ contacts: [], subordinateHosts: ['NS.ours.com', 'ns.victim.com'], sponsor: 'us' },
          ...{ nameservers, createdAt: AT, expiresAt: END },
        });
        return { data };
      }
      case 'domain:create':
        return { data: createdDomainElement({ name: write(command.name), createdAt: AT, expiresAt: END }) };
      case 'domain:renew':
        return { data: renewedDomainElement({ name: write(command.name), expiresAt: END }) };
      case 'domain:transfer': {
        const acted = { requestedBy: 'us', requestedAt: AT, actedBy: 'them', actedAt: AT };
        return { data: transferElement({ name: write(command.name), status: 'serverApproved', ...acted }) };
      }
      case 'domain:trade':
        return { extensions: [trade({})] };
      case 'contact:info': {
        const postalInfo = [{ type: 'int', name: 'Ada', street: [], city: 'London', country: 'GB' }] as const;
        const shown = { postalInfo, email: 'ada@example.net', sponsor: 'us', disclose: true };
        return { data: contactDataElement({ id: write(command.id), roid: 'C-1-R', statuses: ['ok'], ...shown }) };
      }
      case 'contact:create':
        return { data: createdContactElement({ id: write(command.id), createdAt: AT }) };
      case 'host:info': {
        const shown = { roid: 'H-1', statuses: ['ok'], addresses: ['192.0.2.1'], sponsor: 'us' };
        return { data: hostDataElement({ name: write(command.name), ...shown }) };
      }
      case 'host:create':
        return { data: createdHostElement({ name: write(command.name), createdAt: AT }) };
      default:
        return {};
    }
  };
  const server = await openScriptedEpp(
    (command, clTRID) => {
      if (command === 'hello' || command.kind === 'login' || command.kind === 'logout') return undefined;
      sent.push(command);
      return answerWith(1000, clTRID, partsOf(command));
    },
    greetingOf([...EXTENSION_URIS, FRNIC]),
  );
  const registry = createEppRegistry({
    ...{ host: '127.0.0.1', port: server.port, clientId: 'us', password: 'secret', tls: { ca: testCa } },
    ...{ clock: createManualClock(new Date(AT)), logger: silent, reconnectDelayMs: 1, reconnectDelayMaxMs: 5 },
    extensionUris: [...EXTENSION_URIS, FRNIC],
    ...options,
  });
  opened.push({ server, registry });
  await registry.start();
  const sessions = () => server.commands.filter((kind) => kind === 'login').length;
  return { registry, sent, sessions };
}

const about = (kind: EppCommand['kind'], other: string) => (of: EppCommand['kind'], value: string) =>
  of === kind ? other : value;
const changing = (sent: readonly EppCommand[]) => sent.filter(({ kind }) => /:(update|delete|create)$/.test(kind));

test('a name that is answered about as another is not known, and no change goes to that one', async () => {
  const { registry, sent, sessions } = await openRegistry(about('domain:info', 'victim.com'));
  await assert.rejects(registry.info('ours.com'), {
    name: 'RegistryUnavailable',
    message: /the answer to domain:info is about victim\.com/,
  });
  // The session is out of step: it is asked again in others.
  assert.deepEqual([sent.length, sessions()], [3, 3]);
  for (const change of [
    { locked: false },
    { nameservers: ['ns1.new.net', 'ns2.new.net'] },
    { authCode: 'mine-now' },
    { hosts: [] },
  ]) {
    assert.equal((await registry.update({ ...named, ...change })).kind, 'unknown', JSON.stringify(change));
  }
  assert.equal((await registry.restore(named)).kind, 'unknown');
  assert.deepEqual(changing(sent), []);
});

test('a change goes to the name that was asked for, however the answer writes it', async () => {
  const bought = { ...named, name: 'xn--bcher-kva.com' };
  for (const written of ['XN--Bcher-KVA.com.', 'bücher.com', 'BÜCHER.COM.']) {
    const { registry, sent } = await openRegistry((kind, value) => (kind.startsWith('domain:') ? written : value));
    assert.equal((await registry.info(bought.name))?.name, bought.name);
    assert.deepEqual(await registry.check([bought.name]), [{ name: bought.name, availability: 'available' }]);
    const { kind } = await registry.update({ ...bought, locked: true });
    assert.equal(kind, 'completed', written);
    const updated = changing(sent).map((command) => 'name' in command && command.name);
    assert.deepEqual([...new Set(updated)], [bought.name]);
    const creation = await registry.create(testCreation(bought.name));
    assert.deepEqual(creation, { kind: 'completed', expiresAt: END });
  }
});

test('hosts that are not below a name are not its own, whatever the registry says', async () => {
  const { registry, sent } = await openRegistry((_, value) => value);
  const found = await registry.info('ours.com', { withHosts: true });
  assert.deepEqual(found?.hosts, [{ name: 'ns.ours.com', addresses: ['192.0.2.1'] }]);
  assert.equal((await registry.update({ ...named, hosts: [] })).kind, 'completed');
  const deleted = changing(sent).filter(({ kind }) => kind === 'host:delete');
  assert.deepEqual(deleted, [{ kind: 'host:delete', name: 'ns.ours.com' }]);
});

const changes = {
  'domain:create': (registry: Registry) => registry.create(testCreation('ours.com')),
  'domain:renew': (registry: Registry) => registry.renew({ ...named, years: 1, currentExpiresAt: END }),
  'domain:transfer': (registry: Registry) => registry.transfer({ ...named, years: 1, authCode: 'secret' }),
  'domain:trade': (registry: Registry) => registry.trade({ ...named, registrant, isPrivate: false }),
  'contact:create': (registry: Registry) => registry.create(testCreation('ours.com')),
  'contact:info': (registry: Registry) => registry.update({ ...named, isPrivate: true }),
  'host:check': (registry: Registry) => registry.update({ ...named, nameservers: ['ns1.new.net'] }),
  'host:create': (registry: Registry) => registry.update({ ...named, nameservers: ['ns1.new.net'] }),
  'host:info': (registry: Registry) => registry.update({ ...named, hosts: [] }),
} as const;

for (const kind of Object.keys(changes) as (keyof typeof changes)[]) {
  test(`what becomes of a change whose ${kind} is answered about another is not known`, async () => {
    const other = kind.startsWith('contact:') ? 'C-VICTIM' : 'ns.victim.com';
    const { registry, sent } = await openRegistry(about(kind, other), { tradeUri: FRNIC });
    const outcome = await changes[kind](registry);
    assert.equal(outcome.kind, 'unknown', JSON.stringify(outcome));
    const objects = changing(sent).map((command) => ('name' in command ? command.name : 'id' in command && command.id));
    assert.ok(!objects.includes(other), objects.join());
    if (!kind.startsWith('domain:')) assert.ok(!sent.some((command) => /^domain:(create|update)$/.test(command.kind)));
  });
}

test('a check that is answered about names that were not asked for says nothing', async () => {
  const { registry } = await openRegistry((kind, value) =>
    kind === 'domain:check' && value === 'b.com' ? 'victim.com' : value,
  );
  const found = await registry.check(['a.com', 'b.com']);
  assert.deepEqual(
    found.map(({ availability, name }) => [name, availability]),
    [
      ['a.com', 'unknown'],
      ['b.com', 'unknown'],
    ],
  );
});

test('a transfer, or a trade, of another name is not that of the name', async () => {
  const { registry } = await openRegistry((kind, value) => (kind.startsWith('domain:') ? 'victim.com' : value), {
    tradeUri: FRNIC,
  });
  await assert.rejects(registry.transferOf('ours.com'), { name: 'RegistryUnavailable' });
  await assert.rejects(registry.tradeOf('ours.com'), { name: 'RegistryUnavailable' });
});
