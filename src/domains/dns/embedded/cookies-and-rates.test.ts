/** Response rate limiting and DNS cookies as clients see them. */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { dig, digMissing, hasDig } from '../../../../test/support/dig.ts';
import { type DnsReply, question, readReply } from '../../../../test/support/dns-questions.ts';
import { createHostedZone } from '../../../../test/support/zones.ts';
import { createManualClock } from '../../../kernel/clock/clock.ts';
import { createMetrics, type Metrics } from '../../../kernel/metrics/metrics.ts';
import {
  createEmbeddedPublisher,
  type EmbeddedPublisher,
  type EmbeddedPublisherOptions,
} from './embedded-publisher.ts';
import { givenSecrets, readNetwork } from './index.ts';

const SECRET = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
const OLD_SECRET = Buffer.from('ffeeddccbbaa99887766554433221100', 'hex');

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
  await createHostedZone(database.db, 'example.test', [
    '@ 300 A 192.0.2.1',
    'www 300 A 192.0.2.2',
    '*.wild 300 A 192.0.2.9',
    'sub 300 NS ns.example.net.',
  ]);
});
after(() => database.close());

/** One whose clock stands still, so that what was used up stays so. Two answers of each kind, and every further one slips. */
async function withServer<T>(
  options: Partial<EmbeddedPublisherOptions>,
  work: (server: EmbeddedPublisher, ask: (message: Buffer) => Promise<DnsReply>, metrics: Metrics) => Promise<T>,
): Promise<T> {
  const metrics = createMetrics();
  const server = createEmbeddedPublisher({
    db: database.db,
    nameservers: ['ns1.ironcraft.test', 'ns2.ironcraft.test'],
    host: '127.0.0.1',
    port: 0,
    clock: createManualClock(new Date()),
    logger: { error: (fields) => assert.fail(JSON.stringify(fields)) },
    cookieSecrets: givenSecrets([SECRET]),
    slip: 1,
    metrics,
    ...options,
  });
  await server.start();
  const socket = createSocket('udp4');
  try {
    return await work(
      server,
      async (message) => {
        socket.send(message, server.port, '127.0.0.1');
        const [bytes] = (await once(socket, 'message', { signal: AbortSignal.timeout(60_000) })) as [Buffer];
        return readReply(bytes);
      },
      metrics,
    );
  } finally {
    socket.close();
    await server.stop();
  }
}

/** `cookie` in hex. */
function withCookie(name: string, cookie: string): Buffer {
  const plain = question(name, 'A');
  const data = Buffer.from(cookie, 'hex');
  const opt = Buffer.alloc(15);
  opt.writeUInt16BE(41, 1);
  opt.writeUInt16BE(1_232, 3);
  opt.writeUInt16BE(4 + data.length, 9);
  opt.writeUInt16BE(10, 11);
  opt.writeUInt16BE(data.length, 13);
  plain.writeUInt16BE(1, 10);
  return Buffer.concat([plain, opt, data]);
}

/** A whole cookie ends the message. */
function cookieOf({ bytes }: DnsReply): string {
  return bytes.subarray(-28, -24).toString('hex') === '000a0018' ? bytes.subarray(-24).toString('hex') : '';
}

const extendedCode = (reply: DnsReply) => {
  const [opt] = reply.additionals ?? [];
  return reply.rcode + (opt?.type === 'OPT' ? opt.extendedRcode * 16 : 0);
};

const CLIENT = '0102030405060708';

test('answers of one kind are limited together, whatever the names are, and others are not', async () => {
  await withServer({ responsesPerSecond: 1_000, sameResponsesPerSecond: 1 }, async (_server, ask) => {
    const isAnswered = async (name: string) => !(await ask(question(name, 'A'))).isTruncated;
    for (const [first, second, third] of [
      ['www.example.test', 'www.example.test', 'WWW.example.test'],
      ['no1.example.test', 'no2.example.test', 'no3.a.example.test'],
      ['a.wild.example.test', 'b.wild.example.test', 'c.wild.example.test'],
      ['a.sub.example.test', 'b.sub.example.test', 'sub.example.test'],
      ['one.invalid', 'two.invalid', 'three.invalid'],
    ] as const) {
      assert.deepEqual(
        [await isAnswered(first), await isAnswered(second), await isAnswered(third)],
        [true, true, false],
      );
    }
    assert.ok(await isAnswered('example.test'));
  });
});

test('who shows a valid cookie is not limited; who shows another is told one, which is counted', async () => {
  await withServer({ responsesPerSecond: 1 }, async (_server, ask, metrics) => {
    const first = await ask(withCookie('www.example.test', CLIENT));
    assert.deepEqual([first.answers?.length, cookieOf(first).length], [1, 48]);
    assert.ok(cookieOf(first).startsWith(CLIENT));
    await ask(question('www.example.test', 'A'));
    assert.ok((await ask(question('www.example.test', 'A'))).isTruncated);
    const limited = await ask(withCookie('www.example.test', CLIENT));
    assert.deepEqual([extendedCode(limited), limited.answers?.length, cookieOf(limited)], [23, 0, cookieOf(first)]);
    for (let asked = 0; asked < 5; asked += 1) {
      assert.equal((await ask(withCookie('www.example.test', cookieOf(limited)))).answers?.length, 1);
    }
    const forged = `${cookieOf(limited).slice(0, -2)}00`;
    assert.equal(extendedCode(await ask(withCookie('www.example.test', forged))), 23);
    const page = await metrics.render();
    assert.match(page, /dns_udp_responses\{outcome="answered"\} 7/);
    assert.match(page, /dns_udp_responses\{outcome="truncated"\} 1/);
    assert.match(page, /dns_udp_responses\{outcome="bad_cookie"\} 2/);
    assert.match(page, /dns_query_cookies\{cookie="valid"\} 5/);
  });
});

test('a cookie of another replica is valid, also under the secret before', async () => {
  const made = await withServer({ cookieSecrets: givenSecrets([OLD_SECRET]) }, async (_server, ask) =>
    cookieOf(await ask(withCookie('example.test', CLIENT))),
  );
  const codeAfterLimit = (secrets: readonly [Buffer, ...Buffer[]]) =>
    withServer({ responsesPerSecond: 1, cookieSecrets: givenSecrets(secrets) }, async (_server, ask) => {
      for (let asked = 0; asked < 3; asked += 1) await ask(question('example.test', 'A'));
      return extendedCode(await ask(withCookie('example.test', made)));
    });
  assert.equal(await codeAfterLimit([SECRET, OLD_SECRET]), 0);
  assert.equal(await codeAfterLimit([SECRET]), 23);
});

test('a cookie of a length that none has is an error, and networks that are exempt are not limited', async () => {
  const exempt = [readNetwork('127.0.0.0/8')].filter((network) => network !== undefined);
  await withServer({ responsesPerSecond: 1, exempt }, async (_server, ask) => {
    for (const length of [0, 7, 9, 15, 41]) {
      assert.equal((await ask(withCookie('example.test', '00'.repeat(length)))).rcode, 1, `${length} bytes`);
    }
    assert.equal((await ask(withCookie('example.test', '00'.repeat(40)))).answers?.length, 1);
  });
});

describe('dig', { skip: hasDig() ? false : digMissing }, () => {
  test('gets past the limit by its cookie, and by TCP without one', async () => {
    await withServer({ responsesPerSecond: 1 }, async ({ port }) => {
      const asked = ['www.example.test', 'A'];
      assert.match(await dig(port, [...asked, '+cookie', '+notcp']), /COOKIE: [0-9a-f]{48} \(good\)/);
      await dig(port, [...asked, '+nocookie', '+notcp']);
      assert.match(await dig(port, [...asked, '+nocookie', '+notcp', '+ignore']), /flags:[^;]* tc/);
      assert.equal(await dig(port, [...asked, '+nocookie', '+short']), '192.0.2.2');
      assert.equal(await dig(port, [...asked, '+cookie', '+notcp', '+ignore', '+short']), '192.0.2.2');
      assert.match(await dig(port, [...asked, '+cookie', '+notcp', '+ignore', '+nobadcookie']), /BADCOOKIE/);
    });
  });
});
