/** A registry whose messages are broken, or come twice, over EPP: those behind them are read, and the operator has what there is to see. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openTestDatabase } from '../../../test/support/database.ts';
import { startDomains } from '../../../test/support/domains.ts';
import { silent, testCa } from '../../../test/support/epp.ts';
import { standardPrices } from '../../../test/support/prices.ts';
import { answerWith, openScriptedEpp } from '../../../test/support/scripted-epp.ts';
import { openTestLogger } from '../../../test/support/test-log.ts';
import { createManualClock, systemClock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { createJobs } from '../../kernel/jobs/jobs.ts';
import { createMetrics } from '../../kernel/metrics/metrics.ts';
import { createBackgroundWork } from '../background-work.ts';
import { createOperator } from '../operator/index.ts';
import { createEppRegistry } from '../registry/epp/index.ts';
import { DOMAIN } from '../registry/epp/namespaces.ts';
import { element } from '../registry/epp/xml/element.ts';
import { unconfiguredPayments } from '../wallet/index.ts';
import { createOrderWorker } from './order-worker.ts';
import { defineMessageAudit } from './unknown-messages.ts';

const service = await startDomains();
after(() => service.close());
const QUEUED_AT = '2026-11-01T00:00:00.000Z';

interface Queued {
  readonly id: string;
  /** The answer to a poll; bytes are sent as they are. */
  readonly answer: (clTRID: string) => string | Buffer;
}

const said = (id: string, text: string, queuedAt: string = QUEUED_AT): Queued => ({
  id,
  answer: (clTRID) => answerWith(1301, clTRID, { queue: { count: 1, id, queuedAt, text } }),
});
/** Broken by `change`. */
const broken = (id: string, change: (xml: string) => string | Buffer): Queued => ({
  id,
  answer: (clTRID) => change(said(id, 'Something broken').answer(clTRID).toString()),
});

function frameOf(bytes: Buffer): Buffer {
  const frame = Buffer.alloc(4 + bytes.length);
  frame.writeUInt32BE(frame.length);
  bytes.copy(frame, 4);
  return frame;
}

/** A registry with these messages in its queue, and the worker that reads it. */
async function openQueue(id: string, messages: readonly Queued[], db: Database = service.db, clock = systemClock) {
  const queue = [...messages];
  const refused = new Set<string>();
  const server = await openScriptedEpp((command, clTRID) => {
    if (command === 'hello' || command.kind !== 'poll') return undefined;
    const first = queue[0];
    if (command.operation === 'req') return first?.answer(clTRID) ?? answerWith(1300, clTRID);
    if (refused.has(command.messageId)) return answerWith(2400, clTRID);
    if (first?.id !== command.messageId) return answerWith(2303, clTRID);
    queue.shift();
    return answerWith(1000, clTRID);
  });
  const registry = createEppRegistry({
    ...{ id, zones: [id], host: '127.0.0.1', port: server.port, clientId: 'us', password: 'secret' },
    ...{ tls: { ca: testCa }, logger: silent, reconnectDelayMs: 1 },
  });
  await registry.start();
  const { vault } = service;
  const errors: string[] = [];
  const logger = Object.assign(openTestLogger(), { error: (_: object, text: string) => void errors.push(text) });
  const parts = {
    ...{ db, vault, logger, clock, payments: unconfiguredPayments, prices: standardPrices },
    background: createBackgroundWork(silent),
  };
  const worker = createOrderWorker({ ...parts, registry, nameservers: [] });
  return {
    queue,
    refused,
    errors,
    sweep: () => worker.sweep(),
    async shown() {
      const { messages, unreadable } = await createOperator(parts).unknown_messages({});
      return {
        messages: messages.filter(({ registry }) => registry === id),
        unreadable: unreadable.filter(({ registry }) => registry === id),
      };
    },
    close: () => Promise.all([server.close(), registry.stop()]),
  };
}

const nameless = element(DOMAIN, 'panData', [element(DOMAIN, 'paTRID', [])]);

const BROKEN: readonly (readonly [what: string, message: Queued, kept: RegExp])[] = [
  [
    'whose body is not what the mapping says',
    {
      id: 'm-1',
      answer: (clTRID) =>
        answerWith(1301, clTRID, {
          data: nameless,
          queue: { count: 1, id: 'm-1', queuedAt: QUEUED_AT, text: 'Ended' },
        }),
    },
    /^Ended: panData lacks name$/,
  ],
  [
    'whose XML does not end',
    broken('m-1', (xml) => xml.slice(0, -8)),
    /^the XML is not well formed: .*Something broken/,
  ],
  ['whose id is written with entities', broken('m&1', (xml) => xml.slice(0, -8)), /id="m&amp;1"/],
  [
    'whose id is written with numbers of characters',
    broken('m-é1', (xml) => xml.replace('m-é1', '&#109;-&#xE9;1').slice(0, -8)),
    /id="&#109;-&#xE9;1"/,
  ],
  ['without a result', broken('m-1', (xml) => xml.replace(/<result.*<\/result>/, '')), /^the answer has no result: /],
  ['with a code that there is not', broken('m-1', (xml) => xml.replace('1301', '7')), /code/],
  [
    'that is not UTF-8',
    broken('m-1', (xml) => frameOf(Buffer.from(xml.replace('Something', 'Sömething'), 'latin1'))),
    /^the bytes are not UTF-8: .*mething broken/,
  ],
  [
    'that tells an auth code',
    broken('m-1', (xml) => xml.replace('</msgQ>', '</msgQ><domain:pw>s3cret</domain:pw>')),
    /<domain:pw>…<\/domain:pw>/,
  ],
];

for (const [index, [what, message, kept]] of BROKEN.entries()) {
  test(`a message ${what} is kept for the operator, and the one behind it is read`, async (t) => {
    const { close, errors, queue, shown, sweep } = await openQueue(`broken-${index}`, [
      message,
      said('m-2', 'Maintenance'),
    ]);
    t.after(close);
    await sweep();
    const { messages, unreadable } = await shown();
    const [first, second] = messages;
    assert.match(first?.text ?? '', kept);
    assert.deepEqual([first?.message_id, first?.queued_at, second?.text], [message.id, QUEUED_AT, 'Maintenance']);
    assert.deepEqual([queue, unreadable, messages.length], [[], [], 2]);
    assert.deepEqual(errors, ['a message of the registry cannot be read: it waits for the operator']);
  });
}

const WITHOUT_ID: readonly (readonly [what: string, change: (xml: string) => string | Buffer])[] = [
  ['has no id', (xml) => xml.replace(' id="m-1"', '')],
  ['has nothing but a code', (xml) => xml.replace(/<msgQ.*<\/msgQ>/, '')],
  ['has no id in broken XML', (xml) => xml.replace(' id="m-1"', '').slice(0, -8)],
  ['has an id with a character that XML forbids', (xml) => xml.replace('"m-1"', '"\u0001m-1"')],
  ['has an id with the number of such a character', (xml) => xml.replace('"m-1"', '"&#1;m-1"')],
  ['has an id with a number that is no character', (xml) => xml.replace('"m-1"', '"&#9999999;m-1"')],
  ['has an id with a zero', (xml) => xml.replace('"m-1"', '"\u0000m-1"')],
  ['is too long for a frame', () => Buffer.from([0x7f, 0xff, 0xff, 0xff, 0x3c])],
];

for (const [index, [what, change]] of WITHOUT_ID.entries()) {
  test(`a message that ${what} is told to the operator, once and then each hour, until the registry has removed it`, async (t) => {
    const { close, errors, queue, shown, sweep } = await openQueue(`idless-${index}`, [
      broken('m-1', change),
      said('m-2', 'Maintenance'),
    ]);
    t.after(close);
    await sweep();
    await sweep();
    const { messages, unreadable } = await shown();
    assert.deepEqual([messages, unreadable.length, errors.length], [[], 1, 1], unreadable[0]?.problem);
    assert.match(errors[0] ?? '', /the oldest message of a registry cannot be read, or not be removed/);

    queue.shift();
    await sweep();
    const after = await shown();
    assert.deepEqual([after.messages.map(({ text }) => text), after.unreadable], [['Maintenance'], []]);
  });
}

test('a message that the registry refuses to remove is told to the operator where it goes on for ten minutes, and once', async (t) => {
  const clock = createManualClock(new Date());
  const messages = [said('m-1', 'Maintenance'), said('m-2', 'More maintenance')];
  const { close, errors, queue, refused, shown, sweep } = await openQueue('kept', messages, service.db, clock);
  t.after(close);
  refused.add('m-1');
  const sweepAfter = async (ms: number) => {
    clock.advance(ms);
    await sweep();
    return (await shown()).unreadable.map(({ problem }) => problem);
  };
  assert.deepEqual(await sweepAfter(0), []);
  assert.deepEqual(await sweepAfter(9 * 60_000), []);
  const problem = 'message m-1 is not removed: the registry answered 2400: as you say';
  assert.deepEqual(await sweepAfter(60_000), [problem]);
  assert.deepEqual(await sweepAfter(60_000), [problem]);
  assert.equal(errors.length, 1);
  assert.deepEqual([queue.length, (await shown()).messages.map(({ text }) => text)], [2, ['Maintenance']]);

  refused.clear();
  assert.deepEqual(await sweepAfter(1_000), []);
  assert.deepEqual([queue, (await shown()).messages.length], [[], 2]);
  // One that passes is forgotten: the ten minutes begin anew.
  queue.push(said('m-3', 'The last'));
  refused.add('m-3');
  assert.deepEqual(await sweepAfter(10 * 60_000), []);
});

for (const [index, written] of ['&#13;', '&#10;', '&#9;'].entries()) {
  test(`a message whose id has a ${written}, which no command carries, is read, and told to the operator after ten minutes`, async (t) => {
    const clock = createManualClock(new Date());
    const messages = [broken('m-1', (xml) => xml.replace('"m-1"', `"m${written}1"`)), said('m-2', 'More')];
    const { close, errors, queue, shown, sweep } = await openQueue(`unsendable-${index}`, messages, service.db, clock);
    t.after(close);
    await sweep();
    clock.advance(10 * 60_000);
    await sweep();
    const { messages: kept, unreadable } = await shown();
    assert.match(
      unreadable[0]?.problem ?? '',
      /^message "m\\[rnt]1" cannot be removed: poll holds a character that XML/,
    );
    assert.deepEqual([kept.map(({ text }) => text), unreadable.length, errors.length], [['Something broken'], 1, 1]);

    queue.shift();
    clock.advance(60_000);
    await sweep();
    const after = await shown();
    assert.deepEqual([after.messages.length, after.unreadable], [2, []]);
  });
}

test('the audit of each hour counts and tells queues that cannot be read', async (t) => {
  const { close: closeDatabase, db } = await openTestDatabase();
  t.after(closeDatabase);
  const withoutId = broken('m-1', (xml) => xml.replace(' id="m-1"', ''));
  const { close, sweep } = await openQueue('audited', [withoutId], db);
  t.after(close);
  await sweep();
  const metrics = createMetrics();
  const jobs = createJobs(db, { logger: openTestLogger() });
  const { promise: told, resolve: tell } = Promise.withResolvers<object>();
  defineMessageAudit(jobs, { db, logger: Object.assign(openTestLogger(), { error: tell }), metrics });
  assert.match(await metrics.render(), /^domains_unreadable_queues 0$/m);
  await jobs.start();
  t.after(() => jobs.stop());
  await jobs.enqueue(db, 'domains-audit-messages', {});
  const reason = 'the answer to a poll has a message without an id';
  assert.partialDeepStrictEqual(await told, { registry: 'audited', reason });
  assert.match(await metrics.render(), /^domains_unreadable_queues 1$/m);
});

test('a message that the registry queues twice is one, and others that differ in more than the id are others', async (t) => {
  const { close, shown, sweep } = await openQueue('twice', [
    ...['m-1', 'm-2', 'm-2', 'm-3'].map((id) => said(id, 'Low')),
    said('m-4', 'Lower'),
    said('m-5', 'Low', '2026-11-02T00:00:00.000Z'),
  ]);
  t.after(close);
  await sweep();
  const { messages } = await shown();
  assert.deepEqual(
    messages.map(({ message_id, text, times }) => [message_id, text, times]),
    [
      ['m-1', 'Low', 3],
      ['m-4', 'Lower', 1],
      ['m-5', 'Low', 1],
    ],
  );
});
