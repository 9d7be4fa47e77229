/** Trades at a registry that answers as AFNIC's guide has it, and as our own server does not. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { silent, testCa } from '../../../../test/support/epp.ts';
import { answerWith, greetingOf, openScriptedEpp } from '../../../../test/support/scripted-epp.ts';
import type { EppCommand } from './commands/command.ts';
import { contactDataElement } from './commands/contact.ts';
import { domainDataElement } from './commands/domain-results.ts';
import { type TradeData, tradeDataElement } from './commands/trade.ts';
import { createEppRegistry } from './index.ts';
import { EXTENSION_URIS, frnicUri } from './namespaces.ts';

const uri = frnicUri('2.0');
const AT = '2026-03-01T12:00:00.000Z';
const registrant = { name: 'Grace Hopper', email: 'grace@example.net', city: 'Arlington', country: 'US' };
const command = { name: 'a.fr', transactionId: 'ord_1.1', registrant, isPrivate: false };
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Answered {
  readonly code: number;
  readonly trade?: Partial<TradeData>;
}

/** A registry with one name of ours. `answer` is given to trades, and `message` to polls. */
async function openRegistry({
  answer,
  holder = 'Ada',
  message,
  offered = true,
}: {
  answer?: Answered;
  holder?: string;
  message?: Partial<TradeData>;
  offered?: boolean;
}) {
  const dataOf = (trade: Partial<TradeData>) =>
    tradeDataElement(uri, {
      name: 'a.fr',
      status: 'pending',
      requestedBy: 'us',
      requestedAt: AT,
      sponsor: 'us',
      ...trade,
    });
  const sent: EppCommand[] = [];
  const reply = (asked: EppCommand, clTRID: string) => {
    switch (asked.kind) {
      case 'domain:info': {
        const named = {
          name: 'a.fr',
          roid: 'A-1',
          statuses: ['ok'],
          registrant: 'C-1',
          contacts: [],
          subordinateHosts: [],
        };
        const data = domainDataElement({
          ...named,
          sponsor: 'us',
          createdAt: AT,
          expiresAt: '2027-03-01T12:00:00.000Z',
        });
        return answerWith(1000, clTRID, { data });
      }
      case 'contact:info': {
        const postalInfo = [{ type: 'int', name: holder, street: [], city: 'London', country: 'GB' }] as const;
        const data = contactDataElement({
          id: 'C-1',
          roid: 'C-1-R',
          statuses: ['ok'],
          postalInfo,
          email: 'a@example.net',
          sponsor: 'us',
        });
        return answerWith(1000, clTRID, { data });
      }
      case 'domain:trade': {
        const { code = 1000, trade } = answer ?? {};
        return answerWith(code, clTRID, { extensions: trade === undefined ? [] : [dataOf(trade)] });
      }
      case 'poll':
        return answerWith(1301, clTRID, {
          queue: { count: 1, id: '1', queuedAt: AT, text: 'Trade' },
          extensions: [dataOf(message ?? {})],
        });
      default:
        return asked.kind.startsWith('contact:') ? answerWith(1000, clTRID) : undefined;
    }
  };
  const greeting = greetingOf(offered ? [...EXTENSION_URIS, uri] : EXTENSION_URIS);
  const server = await openScriptedEpp((asked, clTRID) => {
    if (asked === 'hello') return undefined;
    sent.push(asked);
    return reply(asked, clTRID);
  }, greeting);
  const registry = createEppRegistry({
    ...{ host: '127.0.0.1', port: server.port, clientId: 'us', password: 'secret', tls: { ca: testCa } },
    ...{ logger: silent, reconnectDelayMs: 1, tradeUri: uri, extensionUris: [...EXTENSION_URIS, uri] },
    contactTypes: ['admin', 'tech'],
  });
  closing.push(
    () => server.close(),
    () => registry.stop(),
  );
  await registry.start();
  return { registry, trades: () => sent.filter((one) => one.kind === 'domain:trade') };
}

test('a request that is answered with 1000 and waits is pending, and names the contact in all roles', async () => {
  const { registry, trades } = await openRegistry({ answer: { code: 1000, trade: { status: 'pending' } } });
  assert.deepEqual(await registry.trade(command), { kind: 'pending' });
  const [trade] = trades();
  assert.ok(trade?.kind === 'domain:trade' && trade.operation === 'request');
  const { contacts, keepsKeys, registrant: id } = trade;
  assert.deepEqual(
    [contacts, keepsKeys],
    [
      [
        { type: 'admin', id },
        { type: 'tech', id },
      ],
      true,
    ],
  );
});

for (const [code, trade, kind] of [
  [1000, { status: 'serverApproved' }, 'completed'],
  [1000, undefined, 'completed'],
  [1001, undefined, 'pending'],
  [2300, undefined, 'rejected'],
  [2400, undefined, 'unknown'],
] as const) {
  test(`the answer ${code} with ${trade?.status ?? 'no data'} is ${kind}`, async () => {
    const { registry } = await openRegistry({ answer: { code, ...(trade && { trade }) } });
    assert.equal((await registry.trade(command)).kind, kind);
  });
}

test('nothing is sent for who holds the name already, nor to a registry that has not offered the extension', async () => {
  const held = await openRegistry({ holder: ' Grace  Hopper ' });
  assert.deepEqual(await held.registry.trade(command), { kind: 'completed' });
  const plain = await openRegistry({ offered: false });
  const outcome = await plain.registry.trade(command);
  assert.deepEqual([outcome.kind, outcome.kind === 'rejected' && outcome.code], ['rejected', 'policy']);
  assert.equal(await plain.registry.tradeOf('a.fr'), undefined);
  assert.deepEqual([held.trades(), plain.trades()], [[], []]);
});

test('what has become of a trade is told of our own alone', async () => {
  const of = async (answer: Answered) => (await openRegistry({ answer })).registry.tradeOf('a.fr');
  assert.deepEqual(await of({ code: 1000, trade: {} }), { state: 'pending', requestedAt: AT });
  assert.deepEqual(await of({ code: 1000, trade: { status: 'clientCancelled' } }), {
    state: 'refused',
    requestedAt: AT,
  });
  assert.equal(await of({ code: 1000, trade: { requestedBy: 'them' } }), undefined);
  assert.equal(await of({ code: 1000, trade: { status: 'maybe' } }), undefined);
  for (const code of [2301, 2101]) assert.equal(await of({ code }), undefined);
  await assert.rejects(of({ code: 2400 }), /2400/);
});

for (const [status, requestedBy, kind] of [
  ['serverApproved', 'us', 'trade_completed'],
  ['serverCancelled', 'us', 'trade_failed'],
  ['pending', 'us', 'notice'],
  ['serverApproved', 'them', 'transferred_away'],
  ['pending', 'them', 'other'],
  ['serverCancelled', 'them', 'notice'],
  ['maybe', 'us', 'other'],
] as const) {
  test(`a message of the status ${status} about a trade of ${requestedBy} is ${kind}`, async () => {
    const { registry } = await openRegistry({ message: { status, requestedBy } });
    const polled = await registry.poll();
    assert.deepEqual([polled?.message.kind, polled?.message.name], [kind, 'a.fr']);
  });
}
