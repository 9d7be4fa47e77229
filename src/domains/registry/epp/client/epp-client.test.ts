/** The client against servers that misbehave: each is a script of what to send for each frame. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { silent, testCa } from '../../../../../test/support/epp.ts';
import {
  answerWith,
  greetingOf,
  openScriptedEpp,
  type Script,
  type ScriptedEpp,
} from '../../../../../test/support/scripted-epp.ts';
import { inBackground, inTurnSince } from '../../turns/command-turn.ts';
import type { EppCommand } from '../commands/command.ts';
import { encodeFrame } from '../frames.ts';
import { EPP, OBJECT_URIS, RGP } from '../namespaces.ts';
import { element } from '../xml/element.ts';
import { writeXml } from '../xml/write-xml.ts';
import { EppClient, type EppClientOptions } from './epp-client.ts';
import { TurnNotCome } from './errors.ts';

/** What the present test has opened. */
const open: { client: EppClient; server: ScriptedEpp }[] = [];
afterEach(async () => {
  for (const { client, server } of open.splice(0)) {
    await server.close();
    await client.stop();
  }
});

/** More than a handshake takes on a busy machine. */
const QUEUE_TIMEOUT_MS = 5_000;
/** The next try would come when nobody waits any more: each handshake costs some milliseconds of the processor. */
const connectsOnce = {
  queueTimeoutMs: QUEUE_TIMEOUT_MS,
  reconnectDelayMs: 2 * QUEUE_TIMEOUT_MS,
  reconnectDelayMaxMs: 2 * QUEUE_TIMEOUT_MS,
};
/** More than an answer takes there. */
const COMMAND_TIMEOUT_MS = 2_000;

async function openScripted(script: Script, options: Partial<EppClientOptions> = {}, greeting = greetingOf()) {
  const server = await openScriptedEpp(script, greeting);
  const client = new EppClient({
    host: '127.0.0.1',
    port: server.port,
    clientId: 'us',
    password: 'secret',
    tls: { ca: testCa },
    logger: silent,
    reconnectDelayMs: 1,
    reconnectDelayMaxMs: 10,
    ...options,
  });
  open.push({ client, server });
  client.start();
  return { client, commands: server.commands };
}

const deletion = { kind: 'domain:delete', name: 'a.com' } as const;
const unrepeatable = { clTRID: 'test-1', isRepeatable: false };
const repeatable = { clTRID: 'test-1', isRepeatable: true };

test('the login takes of the offer what both understand, in a language that the server speaks', async () => {
  const logins: EppCommand[] = [];
  const { client } = await openScripted(
    (command, clTRID) => {
      if (command !== 'hello' && command.kind === 'login') logins.push(command);
      return command !== 'hello' && command.kind === 'poll' ? answerWith(1300, clTRID) : undefined;
    },
    {},
    greetingOf([RGP, 'urn:x:magic'], 'fr'),
  );
  assert.equal((await client.execute({ kind: 'poll', operation: 'req' }, repeatable)).code, 1300);
  const [login] = logins;
  assert.ok(login?.kind === 'login');
  assert.deepEqual([login.objectUris, login.extensionUris, login.language], [OBJECT_URIS, [RGP], 'fr']);
  assert.deepEqual([...(await client.services()).extensionUris], [RGP]);
});

test('a server whose certificate is not trusted, or is of another name, gets no password', async () => {
  const servername = 'registry.example';
  const unknown = await openScripted(() => undefined, { tls: {}, ...connectsOnce });
  const other = await openScripted(() => undefined, { tls: { ca: testCa, servername }, ...connectsOnce });
  // Both at once: it is known by the end of their time alone.
  await Promise.all([
    assert.rejects(unknown.client.execute(deletion, unrepeatable), (error: Error) => {
      assert.equal(error.name, 'CommandNotSent');
      assert.match(String(error.cause), /self-signed certificate/);
      return true;
    }),
    assert.rejects(other.client.services(), { name: 'CommandNotSent' }),
  ]);
  assert.deepEqual([unknown.commands, other.commands], [[], []]);
});

test('a refused login is tried again, and its reason is reported', async () => {
  let logins = 0;
  const { client } = await openScripted((command, clTRID) => {
    if (command === 'hello') return undefined;
    if (command.kind === 'login') {
      logins += 1;
      return logins < 3 ? answerWith(2502, clTRID) : undefined;
    }
    return answerWith(1000, clTRID);
  });
  assert.equal((await client.execute(deletion, unrepeatable)).code, 1000);
  assert.equal(logins, 3);
  const refusing = await openScripted(
    (command, clTRID) => (command !== 'hello' && command.kind === 'login' ? answerWith(2200, clTRID) : undefined),
    { ...connectsOnce },
  );
  await assert.rejects(refusing.client.execute(deletion, unrepeatable), (error: Error) => {
    assert.match(String(error.cause), /the login was refused with 2200/);
    return true;
  });
});

test('what breaks an exchange loses its answer: the change is not sent again, the read is', async () => {
  const breaks: Record<string, (clTRID: string, socket: TLSSocket) => string | Buffer | undefined> = {
    'a cut': (_, socket) => void socket.destroy(),
    silence: () => undefined,
    'an answer to another command': () => answerWith(1000, 'somebody-elses'),
    'no XML': () => 'I beg your pardon',
    'no answer': () => greetingOf(),
    'no frame': () => Buffer.from([0xff, 0xff, 0xff, 0xff]),
  };
  for (const [what, misbehave] of Object.entries(breaks)) {
    let tries = 0;
    const { client } = await openScripted(
      (command, clTRID, socket) => {
        if (command === 'hello' || command.kind === 'login' || command.kind === 'logout') return undefined;
        tries += 1;
        return tries === 1 || tries === 2 ? misbehave(clTRID, socket) : answerWith(1000, clTRID);
      },
      { commandTimeoutMs: what === 'silence' ? COMMAND_TIMEOUT_MS : 60_000 },
    );
    await assert.rejects(client.execute(deletion, unrepeatable), { name: 'AnswerLost', clTRID: 'test-1' }, what);
    assert.equal((await client.execute(deletion, repeatable)).code, 1000, what);
    assert.equal(tries, 3, what);
  }
});

test('a session that the server ends before it did anything is no answer', async () => {
  for (const code of [2501, 2502]) {
    let tries = 0;
    const { client } = await openScripted((command, clTRID) => {
      if (command === 'hello' || command.kind !== 'domain:delete') return undefined;
      tries += 1;
      return answerWith(tries === 1 ? code : 1000, clTRID);
    });
    assert.equal((await client.execute(deletion, unrepeatable)).code, 1000);
    assert.equal(tries, 2);
  }
});

test('2500 is an answer, after which the next command has a new session', async () => {
  let logins = 0;
  const { client } = await openScripted((command, clTRID) => {
    if (command === 'hello') return undefined;
    if (command.kind === 'login') logins += 1;
    return command.kind === 'domain:delete' ? answerWith(2500, clTRID) : undefined;
  });
  assert.equal((await client.execute(deletion, unrepeatable)).code, 2500);
  assert.equal((await client.execute(deletion, unrepeatable)).code, 2500);
  assert.equal(logins, 2);
});

test('one command is in flight at a time; of those that wait there is a limit', async () => {
  const waiting: (() => void)[] = [];
  const { client, commands } = await openScripted(
    (command, clTRID, socket) => {
      if (command === 'hello' || command.kind !== 'domain:delete') return undefined;
      waiting.push(() => socket.write(encodeFrame(answerWith(1000, clTRID))));
      return undefined;
    },
    { maxQueued: 2 },
  );
  await client.services();
  const first = client.execute(deletion, { ...unrepeatable, clTRID: 'first' });
  while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const others = ['second', 'third'].map((clTRID) => client.execute(deletion, { ...unrepeatable, clTRID }));
  await assert.rejects(client.execute(deletion, unrepeatable), { name: 'CommandNotSent' });
  assert.deepEqual(commands, ['login', 'domain:delete']);
  for (const result of [first, ...others]) {
    while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
    waiting.shift()?.();
    assert.equal((await result).code, 1000);
  }
});

test('a connection without commands says hello, and is opened again when nobody answers', async () => {
  const hellos = Promise.withResolvers<void>();
  const logins = Promise.withResolvers<void>();
  let hello = 0;
  let login = 0;
  await openScripted(
    (command) => {
      if (command === 'hello') {
        hello += 1;
        if (hello === 2) hellos.resolve();
        return hello < 2 ? greetingOf() : undefined;
      }
      if (command.kind === 'login') login += 1;
      if (login === 2) logins.resolve();
      return undefined;
    },
    { keepAliveMs: 20, commandTimeoutMs: 100 },
  );
  await hellos.promise;
  await logins.promise;
});

test('stopping lets the command in flight end, refuses those that wait, and logs out', async () => {
  const arrived = Promise.withResolvers<() => void>();
  const { client, commands } = await openScripted((command, clTRID, socket) => {
    if (command !== 'hello' && command.kind === 'domain:delete') {
      arrived.resolve(() => socket.write(encodeFrame(answerWith(1000, clTRID))));
    }
    return undefined;
  });
  const inFlight = client.execute(deletion, unrepeatable);
  const finish = await arrived.promise;
  const waits = assert.rejects(client.execute(deletion, unrepeatable), { name: 'CommandNotSent' });
  const stopped = client.stop();
  await waits;
  finish();
  assert.equal((await inFlight).code, 1000);
  await stopped;
  assert.deepEqual(commands, ['login', 'domain:delete', 'logout']);
  await assert.rejects(client.execute(deletion, unrepeatable), { name: 'CommandNotSent' });
});

test('stopping cuts a server that does not answer, and one that never becomes a session', async () => {
  const arrived = Promise.withResolvers<void>();
  const { client } = await openScripted(
    (command) => {
      if (command !== 'hello' && command.kind === 'domain:delete') arrived.resolve();
      return undefined;
    },
    { stopGraceMs: 50 },
  );
  const lost = assert.rejects(client.execute(deletion, unrepeatable), { name: 'AnswerLost' });
  await arrived.promise;
  await client.stop();
  await lost;
  const asked = Promise.withResolvers<void>();
  const mute = await openScripted((command) => {
    if (command !== 'hello' && command.kind === 'login') asked.resolve();
    return Buffer.alloc(0);
  });
  await asked.promise;
  await mute.client.stop();
});

test('what waits in vain leaves nothing behind', async () => {
  const { client } = await openScripted(() => undefined, { queueTimeoutMs: 20, maxQueued: 3 }, '<html/>');
  for (let round = 0; round < 4; round += 1) {
    const jobs = Array.from({ length: 3 }, () => client.execute(deletion, repeatable));
    const ends = await Promise.allSettled(jobs);
    assert.ok(ends.every((end) => end.status === 'rejected' && /no connection within/.test(String(end.reason))));
  }
});

test('what is no EPP server is no session', async () => {
  const strangers = ['<html/>', writeXml(element(EPP, 'epp', [element(EPP, 'hello')])), 'SSH-2.0-OpenSSH'];
  for (const first of strangers) {
    const { client, commands } = await openScripted(() => undefined, { queueTimeoutMs: 200 }, first);
    await assert.rejects(client.services(), { name: 'CommandNotSent' });
    assert.deepEqual(commands, []);
  }
});

test('a registry that takes so many commands gets orders first, oldest first, then what is asked now, then sweeps', async () => {
  let isFree = false;
  const allowance = { take: async () => (isFree ? undefined : 1) };
  const sent: string[] = [];
  const { client } = await openScripted(
    (command, clTRID) => {
      if (command === 'hello' || command.kind !== 'domain:delete') return undefined;
      sent.push(command.name);
      return answerWith(1000, clTRID);
    },
    { allowance },
  );
  const send = (clTRID: string) =>
    client.execute({ kind: 'domain:delete', name: `${clTRID}.com` }, { clTRID, isRepeatable: false });
  const [now, hour] = [Date.now(), 3_600_000];
  const stopped = new AbortController();
  const unwanted = inBackground(() => send('unwanted'), { signal: stopped.signal });
  const all = [
    inBackground(() => send('sweep')),
    send('asked'),
    inTurnSince(new Date(now - hour), () => send('newer')),
    inTurnSince(new Date(now - 2 * hour), () => send('older')),
    inBackground(() => send('overdue'), { since: new Date(now - hour) }),
  ];
  stopped.abort();
  await assert.rejects(unwanted, TurnNotCome);
  isFree = true;
  await Promise.all(all);
  assert.deepEqual(sent, ['older.com', 'newer.com', 'overdue.com', 'asked.com', 'sweep.com']);
});

test('a command whose turn does not come was not sent, and is not taken for one that a registry away did not get', async () => {
  const { client } = await openScripted(() => undefined, { allowance: { take: async () => 1 }, queueTimeoutMs: 300 });
  await client.services(60_000);
  await assert.rejects(client.execute(deletion, unrepeatable), TurnNotCome);
});
