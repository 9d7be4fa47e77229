/** Secondaries: zones as a whole under shared keys, and what they are told of changes. */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../../../test/support/database.ts';
import { dig, digMissing, digShort, hasDig } from '../../../../../test/support/dig.ts';
import { askDns, question } from '../../../../../test/support/dns-questions.ts';
import { findNsdPort, hasNsd, nsdMissing, startNsd } from '../../../../../test/support/nsd.ts';
import { eventually } from '../../../../../test/support/turns.ts';
import { addTestRecord, createHostedZone } from '../../../../../test/support/zones.ts';
import { systemClock } from '../../../../kernel/clock/clock.ts';
import { importZone } from '../../import-zone.ts';
import {
  createEmbeddedPublisher,
  type EmbeddedPublisher,
  type EmbeddedPublisherOptions,
} from '../embedded-publisher.ts';
import { findTsig } from '../read-query.ts';
import { checkTsig, signAnswers, signRequest, type TsigKey } from './tsig.ts';

const SHA256: TsigKey = { name: 'one.key.test', algorithm: 'hmac-sha256', secret: Buffer.alloc(32, 1) };
const SHA512: TsigKey = { name: 'two.key.test', algorithm: 'hmac-sha512', secret: Buffer.alloc(64, 2) };

const asDig = ({ algorithm, name, secret }: TsigKey) =>
  `${algorithm}:${name}:${Buffer.from(secret).toString('base64')}`;

let database: TestDatabase;
const logged: unknown[] = [];
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

async function withServer<T>(
  options: Partial<EmbeddedPublisherOptions>,
  work: (server: EmbeddedPublisher) => Promise<T>,
): Promise<T> {
  const server = createEmbeddedPublisher({
    db: database.db,
    nameservers: ['ns1.ironcraft.test', 'ns2.ironcraft.test'],
    host: '127.0.0.1',
    port: 0,
    clock: systemClock,
    logger: { error: (fields) => logged.push(fields) },
    responsesPerSecond: 1_000_000,
    notifyTiming: { timeoutMs: 2_000, retryMs: 50, sweepIntervalMs: 50 },
    ...options,
  });
  await server.start();
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

/** Networks are not told of changes. */
const network = (key?: TsigKey) => ({ address: '127.0.0.0/8', port: 53, ...(key === undefined ? {} : { key }) });

describe('dig as a secondary', { skip: hasDig() ? false : digMissing }, () => {
  const transfer = (port: number, name: string, ...args: string[]) =>
    dig(port, [name, 'AXFR', '+all', '+onesoa', ...args]);

  test('has the whole zone under a key of either algorithm, every message of it signed', async () => {
    const records = Array.from({ length: 900 }, (_, at) => `host${at} 300 TXT "${'x'.repeat(60)}${at}"`);
    const zone = await createHostedZone(database.db, 'large.test', ['sub 300 NS ns.sub.large.test.']);
    const text = ['@ 300 A 192.0.2.1', ...records].join('\n');
    const ttl = { shortest: 60, longest: 86_400 };
    await database.db.transaction((tx) => importZone(tx, zone, { text, keepsOthers: true, ttl }));
    await withServer({ secondaries: [network(SHA256), network(SHA512)] }, async ({ port }) => {
      for (const key of [SHA256, SHA512]) {
        const printed = await transfer(port, 'large.test', '-y', asDig(key), '+stats');
        const [, count, messages] = /XFR size: (\d+) records \(messages (\d+)/.exec(printed) ?? [];
        assert.equal(Number(count), 902 + 2 + 2, 'with NS twice and SOA at both ends');
        assert.ok(Number(messages) > 1);
        assert.doesNotMatch(printed, /Couldn't verify|failed|TSIG could not/i);
        const answers = printed.split('\n').filter((line) => /^\S+\s+\d+\s+IN/.test(line));
        assert.match(answers[0] ?? '', /SOA/);
        assert.ok(answers.some((line) => line.startsWith('host899.large.test.')));
      }
    });
  });

  test('has nothing without a key, under another one, or from another address', async () => {
    await createHostedZone(database.db, 'closed.test', ['@ 300 A 192.0.2.1']);
    const forged = { ...SHA256, secret: Buffer.alloc(32, 9) };
    const elsewhere = { address: '192.0.2.53', port: 53, key: SHA256 };
    await withServer({ secondaries: [network(SHA256)] }, async ({ port }) => {
      for (const [args, reason] of [
        [[], /Transfer failed/],
        [['-y', asDig(forged)], /BADSIG/],
        [['-y', asDig({ ...SHA256, name: 'no.key.test' })], /BADKEY/],
        [['-y', asDig({ ...SHA256, algorithm: 'hmac-sha512' })], /BADKEY/],
      ] as const) {
        const text = await transfer(port, 'closed.test', ...args);
        assert.match(text, reason);
        assert.doesNotMatch(text, /192\.0\.2\.1/);
      }
      assert.doesNotMatch(await transfer(port, 'absent.test', '-y', asDig(SHA256)), /SOA/);
      assert.doesNotMatch(await transfer(port, 'www.closed.test', '-y', asDig(SHA256)), /SOA/);
    });
    await withServer({ secondaries: [elsewhere] }, async ({ port }) => {
      assert.match(await transfer(port, 'closed.test', '-y', asDig(SHA256)), /Transfer failed/);
    });
    const tomorrow = { now: () => new Date(Date.now() + 86_400_000) };
    await withServer({ secondaries: [network(SHA256)], clock: tomorrow }, async ({ port }) => {
      assert.match(await transfer(port, 'closed.test', '-y', asDig(SHA256)), /BADTIME/);
    });
  });

  test('is told by SOA alone that it has everything, and given the zone where it has not', async () => {
    await createHostedZone(database.db, 'serial.test', ['@ 300 A 192.0.2.1']);
    await withServer({ secondaries: [network()] }, async ({ port }) => {
      const [soa = ''] = await digShort(port, 'serial.test', 'SOA');
      const serial = Number(soa.split(' ')[2]);
      const ask = (known: number, ...args: string[]) =>
        dig(port, ['serial.test', `IXFR=${known}`, '+noall', '+answer', ...args]);
      assert.equal((await ask(serial)).split('\n').length, 1);
      assert.equal((await ask(serial - 1)).split('\n').length, 5);
      assert.equal((await ask(serial - 1, '+notcp')).split('\n').length, 1);
    });
  });

  test('has any answer signed that it asked for so', async () => {
    await createHostedZone(database.db, 'signed.test', ['@ 300 A 192.0.2.1']);
    await withServer({ secondaries: [network(SHA256)] }, async ({ port }) => {
      for (const type of ['SOA', 'A', 'AAAA']) {
        const text = await dig(port, ['signed.test', type, '+notcp', '-y', asDig(SHA256)]);
        assert.match(text, /TSIG\s+hmac-sha256\..* NOERROR/);
        assert.doesNotMatch(text, /Couldn't verify/i);
      }
    });
  });
});

describe('NSD as a secondary', { skip: hasNsd() && hasDig() ? false : nsdMissing }, () => {
  test('copies zones and follows each change that it is told of', async () => {
    const zone = await createHostedZone(database.db, 'followed.test', ['@ 300 A 192.0.2.1', 'www 300 CNAME @']);
    const port = await findNsdPort();
    const secondaries = [{ address: '127.0.0.1', port, key: SHA256 }];
    await withServer({ secondaries }, async (server) => {
      const nsd = await startNsd({ port, primaryPort: server.port, zones: [zone.name], key: SHA256 });
      try {
        const follows = async (type: string) => {
          const expected = await digShort(server.port, zone.name, type);
          // A server that is starting, or copying, does not answer so yet.
          await eventually(async () => {
            const answer = await digShort(port, zone.name, type).catch(() => []);
            return answer.join() === expected.join() ? true : undefined;
          }, `${type} is followed`);
        };
        await follows('SOA');
        await follows('A');
        await addTestRecord(database.db, zone, '@ 300 A 192.0.2.2');
        await follows('A');
        await addTestRecord(database.db, zone, '@ 300 MX 10 mail.example.net.');
        await follows('MX');
        await follows('SOA');
      } finally {
        await nsd.close();
      }
    });
  });
});

describe('a secondary', async () => {
  /** Acknowledges as the list says, one message after the other, and then always; messages, as they come. */
  async function openSecondary(answers: readonly ('silence' | 'refusal' | 'unsigned')[]) {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const messages: Buffer[] = [];
    socket.on('message', (message: Buffer, from) => {
      const how = answers[messages.length];
      messages.push(message);
      if (how === 'silence') return;
      const at = findTsig(message) ?? message.length;
      const checked = checkTsig(message, at, [SHA256], Math.floor(Date.now() / 1_000));
      const answer = Buffer.from(message.subarray(0, at));
      answer.writeUInt16BE(0xa400 | (how === 'refusal' ? 5 : 0), 2);
      answer.writeUInt16BE(0, 10);
      const signed = checked === undefined ? [] : signAnswers([answer], checked, Math.floor(Date.now() / 1_000));
      socket.send((how === 'unsigned' ? answer : signed[0]) ?? answer, from.port, from.address);
      assert.equal(checked?.error, 0, 'what it is told is signed');
    });
    return {
      messages,
      options: { address: '127.0.0.1', port: socket.address().port, key: SHA256 },
      close: () => socket.close(),
    };
  }

  const lag = async (name: string) => {
    const { rows } = await database.db.query<{ lag: number }>({
      text: 'select (version - notified_version)::int as lag from domains.zones where name = $1',
      values: [name],
    });
    return rows[0]?.lag;
  };
  const acknowledged = (name: string) =>
    eventually(async () => ((await lag(name)) === 0 ? true : undefined), 'it is acknowledged');

  test('is told again until it acknowledges, and not again by then', async () => {
    // Those of the tests before need no telling.
    await database.db.query({ text: 'update domains.zones set notified_version = version', values: [] });
    const [stubborn, quick] = [await openSecondary(['silence', 'refusal', 'unsigned']), await openSecondary([])];
    try {
      await createHostedZone(database.db, 'told.test', []);
      await withServer({ secondaries: [stubborn.options, quick.options] }, async () => {
        await acknowledged('told.test');
        assert.equal(stubborn.messages.length, 4);
        assert.equal(quick.messages.length, 1);
      });
      const [message = Buffer.alloc(0)] = stubborn.messages;
      assert.deepEqual([message.readUInt16BE(2) >> 11, message.toString('latin1', 13, 17)], [4, 'told']);
    } finally {
      stubborn.close();
      quick.close();
    }
  });

  test('is told once of a change, though several replicas know of it', async () => {
    const secondary = await openSecondary([]);
    try {
      const zone = await createHostedZone(database.db, 'replicas.test', []);
      const options = { secondaries: [secondary.options] };
      await withServer(options, () =>
        withServer(options, async () => {
          await acknowledged('replicas.test');
          const before = secondary.messages.length;
          await addTestRecord(database.db, zone, '@ 300 A 192.0.2.1');
          await acknowledged('replicas.test');
          assert.deepEqual([before, secondary.messages.length - before], [1, 1]);
        }),
      );
    } finally {
      secondary.close();
    }
  });
});

test('a signature that is cut off, misplaced or of another length is refused, and harms nothing', async () => {
  await createHostedZone(database.db, 'cut.test', ['@ 300 A 192.0.2.1']);
  const asked = question('cut.test', 'A');
  const { message } = signRequest(asked, SHA256, Math.floor(Date.now() / 1_000));
  const twice = signRequest(message, SHA256, Math.floor(Date.now() / 1_000)).message;
  await withServer({ secondaries: [network(SHA256)] }, async ({ port }) => {
    assert.equal((await askDns(port, message)).rcode, 0);
    const broken = [message.subarray(0, -1), message.subarray(0, -30), twice, Buffer.concat([message, asked])];
    for (const one of broken) assert.equal((await askDns(port, one)).rcode, 1, one.toString('hex'));
    const changed = Buffer.from(message);
    changed[13] = 0x64;
    assert.equal((await askDns(port, changed)).rcode, 9);
    assert.equal((await askDns(port, asked)).answers?.length, 1);
  });
});
