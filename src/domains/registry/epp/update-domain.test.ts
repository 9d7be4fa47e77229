/** A change that takes several commands, at a registry that refuses one of them. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { silent, testCa } from '../../../../test/support/epp.ts';
import { answerWith, greetingOf, openScriptedEpp, type ScriptedEpp } from '../../../../test/support/scripted-epp.ts';
import { createManualClock } from '../../../kernel/clock/clock.ts';
import type { Registry } from '../registry.ts';
import type { EppCommand } from './commands/command.ts';
import { contactDataElement } from './commands/contact.ts';
import { domainDataElement } from './commands/domain-results.ts';
import { createEppRegistry } from './index.ts';

const opened: { server: ScriptedEpp; registry: Registry }[] = [];
afterEach(async () => {
  for (const { server, registry } of opened.splice(0)) {
    await server.close();
    await registry.stop();
  }
});

const LOCKS = ['clientDeleteProhibited', 'clientTransferProhibited', 'clientUpdateProhibited'];

/** A registry with one locked name whose registrant is shown. It refuses what `refuses` says. */
async function openRegistry(refuses: (what: string) => boolean) {
  const statuses = new Set(LOCKS);
  const state = { nameservers: ['ns1.old.net', 'ns2.old.net'], isShown: true };
  const changes: string[] = [];
  const answer = (command: EppCommand, clTRID: string): string | undefined => {
    if (command.kind === 'domain:info') {
      const data = domainDataElement({
        name: 'a.com',
        roid: 'A-1',
        statuses: [...statuses],
        registrant: 'C-1',
        contacts: [],
        nameservers: { model: 'hostAttr', names: state.nameservers },
        subordinateHosts: [],
        sponsor: 'us',
        createdAt: '2025-01-01T00:00:00Z',
        expiresAt: '2027-01-01T00:00:00Z',
      });
      return answerWith(1000, clTRID, { data });
    }
    if (command.kind === 'contact:info') {
      const data = contactDataElement({
        id: 'C-1',
        roid: 'C-1-R',
        statuses: ['ok'],
        postalInfo: [{ type: 'int', name: 'Ada', street: [], city: 'London', country: 'GB' }],
        email: 'ada@example.net',
        sponsor: 'us',
        createdBy: 'us',
        createdAt: '2025-01-01T00:00:00Z',
        disclose: state.isShown,
      });
      return answerWith(1000, clTRID, { data });
    }
    if (command.kind === 'contact:update') {
      const what = command.disclose === true ? 'show' : 'hide';
      changes.push(what);
      if (refuses(what)) return answerWith(2308, clTRID);
      state.isShown = command.disclose === true;
      return answerWith(1000, clTRID);
    }
    if (command.kind !== 'domain:update') return undefined;
    const names = command.add?.nameservers?.names ?? [];
    const added = command.add?.statuses ?? [];
    const removed = command.remove?.statuses ?? [];
    const what = names.length > 0 ? 'delegate' : added.length > 0 ? 'lock' : 'unlock';
    changes.push(what);
    if (refuses(what)) return answerWith(2306, clTRID);
    for (const status of added) statuses.add(status);
    for (const status of removed) statuses.delete(status);
    if (names.length > 0) state.nameservers = [...names];
    return answerWith(1000, clTRID);
  };
  const script = (command: EppCommand | 'hello', clTRID: string) =>
    command === 'hello' ? undefined : answer(command, clTRID);
  const server = await openScriptedEpp(script, greetingOf());
  const registry = createEppRegistry({
    host: '127.0.0.1',
    port: server.port,
    clientId: 'us',
    password: 'secret',
    tls: { ca: testCa },
    clock: createManualClock(new Date('2026-03-01T00:00:00Z')),
    logger: silent,
    nameserverModel: 'hostAttr',
    reconnectDelayMs: 1,
  });
  opened.push({ server, registry });
  await registry.start();
  return { registry, changes, shown: () => ({ ...state, statuses: [...statuses].sort() }) };
}

const command = {
  name: 'a.com',
  transactionId: 'upd-1',
  isPrivate: true,
  nameservers: ['ns1.new.net', 'ns2.new.net'],
};
const before = { nameservers: ['ns1.old.net', 'ns2.old.net'], isShown: true, statuses: LOCKS };

test('a change of a locked name and its contact is made by three commands', async () => {
  const { registry, changes, shown } = await openRegistry(() => false);
  assert.deepEqual(await registry.update(command), { kind: 'completed' });
  assert.deepEqual(changes, ['hide', 'unlock', 'delegate']);
  assert.deepEqual(shown(), { nameservers: command.nameservers, isShown: false, statuses: LOCKS });
});

for (const [refused, expected] of [
  ['hide', ['hide']],
  ['unlock', ['hide', 'unlock', 'show']],
  ['delegate', ['hide', 'unlock', 'delegate', 'lock', 'show']],
] as const) {
  test(`where the registry refuses to ${refused}, all is as before`, async () => {
    const { registry, changes, shown } = await openRegistry((what) => what === refused);
    const outcome = await registry.update(command);
    assert.deepEqual([outcome.kind, outcome.kind === 'rejected' && outcome.code], ['rejected', 'policy']);
    assert.deepEqual(changes, expected);
    assert.deepEqual(shown(), before);
  });
}

test('what cannot be taken back is said to be not known', async () => {
  const { registry } = await openRegistry((what) => what === 'delegate' || what === 'lock');
  const outcome = await registry.update(command);
  assert.equal(outcome.kind, 'unknown');
  assert.match(outcome.kind === 'unknown' ? outcome.reason : '', /2306.*was not taken back \(2306/);
});
