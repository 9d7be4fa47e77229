/** Clients that send malformed queries, or too many at once: the nameserver serves the others meanwhile. */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { encode, streamEncode } from 'dns-packet';
import { createRandom, type Random } from '../../../../test/faults/seeded-random.ts';
import { openTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import {
  askDns,
  type DnsReply,
  edns,
  QUESTION_ID,
  question,
  readReply,
} from '../../../../test/support/dns-questions.ts';
import { seedFor } from '../../../../test/support/seed.ts';
import { createHostedZone } from '../../../../test/support/zones.ts';
import { createManualClock, systemClock } from '../../../kernel/clock/clock.ts';
import type { Database, Statement } from '../../../kernel/db/database.ts';
import {
  createEmbeddedPublisher,
  type EmbeddedPublisher,
  type EmbeddedPublisherOptions,
} from './embedded-publisher.ts';
import { ConnectionTable } from './guard/connection-table.ts';
import { listen } from './listeners.ts';

const TIMEOUT_MS = 30_000;

let database: TestDatabase;
let server: EmbeddedPublisher;
const errors: unknown[] = [];

async function start(db: Database, options: Partial<EmbeddedPublisherOptions> = {}): Promise<EmbeddedPublisher> {
  const started = createEmbeddedPublisher({
    db,
    nameservers: ['ns1.ironcraft.test', 'ns2.ironcraft.test'],
    host: '127.0.0.1',
    port: 0,
    clock: systemClock,
    logger: { error: (fields) => errors.push(fields) },
    responsesPerSecond: 1_000_000,
    ...options,
  });
  await started.start();
  return started;
}

before(async () => {
  database = await openTestDatabase();
  await createHostedZone(database.db, 'example.test', [
    '@ 300 A 192.0.2.1',
    '@ 300 A 192.0.2.2',
    'mail 300 A 192.0.2.3',
    'www 300 CNAME example.test.',
    '*.wild 300 A 192.0.2.9',
    'sub 300 NS ns1.sub.example.test.',
    'ns1.sub 300 A 192.0.2.53',
  ]);
  server = await start(database.db);
});
after(async () => {
  await server.stop();
  await database.close();
  assert.deepEqual(errors, []);
});

const addresses = async (port = server.port) => (await askDns(port, question('example.test', 'A'))).answers?.length;

const stream = (name: string) => streamEncode({ type: 'query', id: 1, questions: [{ name, type: 'A' }] });

function messagesOf(bytes: Buffer): DnsReply[] {
  const messages: DnsReply[] = [];
  for (let at = 0; at < bytes.length; at += 2 + bytes.readUInt16BE(at)) {
    messages.push(readReply(bytes.subarray(at + 2, at + 2 + bytes.readUInt16BE(at))));
  }
  return messages;
}

/** A connection, and what it has received by its end. */
function open(port: number, localAddress = '127.0.0.1'): { socket: Socket; received: Promise<Buffer> } {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  const parts: Buffer[] = [];
  socket.setNoDelay(true);
  socket.on('data', (data) => parts.push(data));
  // A connection that the server cuts may be reset.
  socket.on('error', () => undefined);
  const received = once(socket, 'close', { signal: AbortSignal.timeout(TIMEOUT_MS) }).then(() => Buffer.concat(parts));
  return { socket, received };
}

test('many questions at once for a zone that is not read yet read it once', async () => {
  await createHostedZone(database.db, 'cold.test', ['@ 300 A 192.0.2.1']);
  let reads = 0;
  const counting: Database = Object.create(database.db, {
    query: {
      value: (statement: Statement) => {
        if (statement.text.includes('from domains.dns_records')) reads += 1;
        return database.db.query(statement);
      },
    },
    listen: { value: async () => async () => undefined },
  });
  const cold = await start(counting);
  try {
    const replies = await Promise.all(Array.from({ length: 20 }, () => askDns(cold.port, question('cold.test', 'A'))));
    assert.ok(replies.every(({ answers }) => answers?.length === 1));
    assert.equal(reads, 1);
  } finally {
    await cold.stop();
  }
});

test('a zone that cannot be read is answered as a failure of ours, and is read when it can be', async () => {
  await createHostedZone(database.db, 'unread.test', ['@ 300 A 192.0.2.1']);
  let isAway = true;
  const failing: Database = Object.create(database.db, {
    query: {
      value: async (statement: Statement) => {
        if (isAway) throw new Error('the store is away');
        return database.db.query(statement);
      },
    },
    listen: { value: async () => async () => undefined },
  });
  const logged: unknown[] = [];
  const unlucky = await start(failing, { logger: { error: (fields) => logged.push(fields) } });
  try {
    assert.equal((await askDns(unlucky.port, question('unread.test', 'A'))).rcode, 2);
    assert.equal(logged.length, 1);
    isAway = false;
    assert.equal((await askDns(unlucky.port, question('unread.test', 'A'))).answers?.length, 1);
  } finally {
    await unlucky.stop();
  }
});

test('an address that asks too much is answered with TC alone, or not at all', async () => {
  const strict = await start(database.db, { responsesPerSecond: 1, clock: createManualClock(new Date()) });
  const socket = createSocket('udp4');
  const replies: DnsReply[] = [];
  socket.on('message', (message) => replies.push(readReply(message)));
  const asked = question('example.test', 'A');
  try {
    for (let sent = 0; sent < 12; sent += 1) socket.send(asked, strict.port, '127.0.0.1');
    // Two of the burst, and every second one of the other ten.
    while (replies.length < 7) await once(socket, 'message', { signal: AbortSignal.timeout(TIMEOUT_MS) });
    // By TCP, which proves the address, every question is answered.
    const { socket: tcp, received } = open(strict.port);
    tcp.end(stream('example.test'));
    assert.equal(readReply((await received).subarray(2)).answers?.length, 2);
    const truncated = replies.filter(({ isTruncated }) => isTruncated);
    assert.deepEqual([replies.length, truncated.length], [7, 5]);
    assert.ok(truncated.every(({ bytes }) => bytes.length <= asked.length));
  } finally {
    socket.close();
    await strict.stop();
  }
});

test('a connection answers several questions, in pieces or at once, and ends when it says nothing', async () => {
  const hasty = await start(database.db, { idleTimeoutMs: 2_000 });
  try {
    const { socket, received } = open(hasty.port);
    const bytes = Buffer.concat(['example.test', 'mail.example.test', 'nothing.example.test'].map(stream));
    for (let at = 0; at < 40; at += 1) socket.write(bytes.subarray(at, at + 1));
    socket.write(bytes.subarray(40));
    assert.deepEqual(
      messagesOf(await received).map(({ answers }) => answers?.length),
      [2, 1, 0],
    );
  } finally {
    await hasty.stop();
  }
});

test('a connection that sends a byte now and then is cut off as one that sends nothing', async () => {
  const hasty = await start(database.db, { idleTimeoutMs: 100 });
  try {
    const { socket, received } = open(hasty.port);
    const drip = setInterval(() => socket.write('\x01'), 20);
    // A byte that is on its way when the connection ends is answered with a reset.
    await received.catch(({ code }) => assert.equal(code, 'ECONNRESET')).finally(() => clearInterval(drip));
    assert.equal(socket.bytesRead, 0);
  } finally {
    await hasty.stop();
  }
});

test('a connection that asks for too long a message, or says nothing of sense, is cut off', async () => {
  for (const bytes of [Buffer.from([0xff, 0xff, 1, 2, 3]), Buffer.from([0, 0]), Buffer.from([0, 3, 1, 2, 3])]) {
    const { socket, received } = open(server.port);
    socket.write(bytes);
    assert.equal((await received).length, 0);
  }
});

test('one address that keeps all of its connections in use keeps no other one out', async () => {
  const limit = 16;
  const small = await start(database.db, { connectionLimit: limit });
  const held: Socket[] = [];
  const isOpen = (socket: Socket) => !socket.destroyed && socket.readyState === 'open';
  try {
    for (let count = 0; count < 2 * limit; count += 1) {
      const { socket } = open(small.port);
      held.push(socket);
      socket.write(stream('example.test'));
      await Promise.race([once(socket, 'data'), once(socket, 'close')]);
    }
    for (let count = 0; count < limit; count += 1) {
      for (const socket of held.filter(isOpen)) socket.write(stream('mail.example.test'));
      const { socket, received } = open(small.port, '127.0.0.2');
      socket.end(stream('example.test'));
      assert.equal(messagesOf(await received).length, 1);
    }
    assert.ok(held.filter(isOpen).length <= limit / 2);
  } finally {
    for (const socket of held) socket.destroy();
    await small.stop();
  }
});

test('where all connections are taken, the one that has been idle longest gives way to a new one', async () => {
  const small = await start(database.db, { connectionLimit: 4 });
  const ask = async ({ socket }: ReturnType<typeof open>) => {
    socket.write(stream('example.test'));
    await once(socket, 'data', { signal: AbortSignal.timeout(TIMEOUT_MS) });
  };
  try {
    const all = [2, 3, 4, 5].map((last) => open(small.port, `127.0.0.${last}`));
    for (const one of all) await ask(one);
    const [first, second, ...others] = all;
    assert.ok(first !== undefined && second !== undefined);
    await ask(first);
    const next = open(small.port, '127.0.0.6');
    await ask(next);
    await second.received;
    for (const one of [first, ...others, next]) await ask(one);
    for (const { socket } of [first, ...others, next]) socket.destroy();
  } finally {
    await small.stop();
  }
});

test('an answer of many messages that is being read is not cut off for a new connection', async () => {
  // More than the buffers of both ends take, so that it is not written before it is read.
  const PARTS = 1_000;
  const whole = Array.from({ length: PARTS }, () => Buffer.alloc(16_384, 1));
  const asked = Promise.withResolvers<void>();
  const listeners = await listen({
    host: '127.0.0.1',
    port: 0,
    connectionTable: new ConnectionTable({ limit: 1 }),
    answerUdp: () => undefined,
    answerTcp() {
      asked.resolve();
      return whole;
    },
    onError: (error) => errors.push(error),
  });
  try {
    const socket = connect(listeners.port, '127.0.0.1');
    socket.pause();
    socket.write(stream('example.test'));
    await asked.promise;
    assert.equal((await open(listeners.port).received).length, 0);
    let bytes = 0;
    socket.on('data', (data: Buffer) => {
      bytes += data.length;
      if (bytes === PARTS * (16_384 + 2)) socket.destroy();
    });
    socket.resume();
    await once(socket, 'close', { signal: AbortSignal.timeout(30_000) });
    assert.equal(bytes, PARTS * (16_384 + 2));
  } finally {
    await listeners.close();
  }
});

test('an answer is never answered', async () => {
  const socket = createSocket('udp4');
  try {
    const answer = encode({ type: 'response', id: 1, questions: [{ name: 'example.test', type: 'A' }] });
    socket.send(answer, server.port, '127.0.0.1');
    socket.send(question('example.test', 'A'), server.port, '127.0.0.1');
    const [first] = (await once(socket, 'message', { signal: AbortSignal.timeout(TIMEOUT_MS) })) as [Buffer];
    assert.equal(first.readUInt16BE(0), QUESTION_ID);
  } finally {
    socket.close();
  }
});

test('no bytes whatever harm the server', async () => {
  const random = createRandom(seedFor('hostile-clients'));
  const valid = [
    question('www.example.test', 'A', edns(1_232)),
    question('b.wild.example.test', 'ANY'),
    question('a.sub.example.test', 'TXT', edns(4_096)),
  ];
  const socket = createSocket('udp4');
  const replies: Buffer[] = [];
  socket.on('message', (message) => replies.push(message));
  try {
    for (let round = 0; round < 4_000; round += 1) {
      socket.send(spoil(random, random.pick(valid)), server.port, '127.0.0.1');
      // Lets the server catch up, and shows that it does.
      if (round % 100 === 0) assert.equal(await addresses(), 2);
    }
    assert.ok(replies.length > 500);
    for (const reply of replies) {
      assert.ok((reply.readUInt16BE(2) & 0x8000) !== 0);
      assert.ok(reply.length <= 1_232);
      readReply(reply);
    }
  } finally {
    socket.close();
  }
  for (let round = 0; round < 50; round += 1) {
    const { socket: tcp, received } = open(server.port);
    tcp.end(randomBytes(random, random.integer(0, 200)));
    await received;
  }
  assert.equal(await addresses(), 2);
});

function randomBytes(random: Random, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.integer(0, 255)));
}

/** Some bytes changed, some cut off, or nothing of it left. */
function spoil(random: Random, valid: Buffer): Buffer {
  const message = random.integer(0, 3) === 0 ? randomBytes(random, random.integer(1, 600)) : Buffer.from(valid);
  for (let changes = random.integer(0, 3); changes > 0; changes -= 1) {
    message[random.integer(0, message.length - 1)] = random.integer(0, 255);
  }
  return random.integer(0, 2) === 0 ? message.subarray(0, random.integer(0, message.length)) : message;
}
