/** The server as a client without manners meets it: states of a session, faults and their codes, hostile bytes. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { after, afterEach, before, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../../../test/support/database.ts';
import {
  openRawClient,
  openTestEpp,
  PASSWORD,
  type RawClient,
  silent,
  type TestEpp,
  testCa,
  testTls,
} from '../../../../../test/support/epp.ts';
import { done } from '../../../../../test/support/simulated-registry.ts';
import { MAX_FRAME_BYTES } from '../frames.ts';
import { CONTACT, DOMAIN, EPP, FEE, OBJECT_URIS, RGP, SEC_DNS } from '../namespaces.ts';
import { DEFAULT_HABITS, extensionUrisOf } from './habits.ts';
import { type EppServerLimits, startEppServer } from './start-epp-server.ts';

const extensionUris = extensionUrisOf(DEFAULT_HABITS);

let database: TestDatabase;
let epp: TestEpp;
const clients: RawClient[] = [];

before(async () => {
  database = await openTestDatabase();
  epp = await openTestEpp(database.db, { delays: { createSeconds: 0 } });
});
afterEach(async () => {
  const sockets = clients.splice(0).map(({ socket }) => socket);
  const closed = sockets.filter((socket) => !socket.closed).map((socket) => once(socket, 'close'));
  for (const socket of sockets) socket.destroy();
  await Promise.all(closed);
});
after(async () => {
  await epp.close();
  await database.close();
});

async function open(port = epp.server.port): Promise<RawClient> {
  const client = openRawClient(port);
  clients.push(client);
  assert.match((await client.next()) ?? '', /<greeting>/);
  return client;
}

function command(inner: string, clTRID = '<clTRID>raw-1</clTRID>'): string {
  return `<epp xmlns="${EPP}"><command>${inner}${clTRID}</command></epp>`;
}

function login(
  changes: Partial<Record<'clID' | 'pw' | 'newPW' | 'version' | 'lang' | 'objects' | 'extensions', string>> = {},
) {
  const {
    clID = epp.ours.registrarId,
    pw = PASSWORD,
    newPW = '',
    version = '1.0',
    lang = 'en',
    objects = OBJECT_URIS.map((uri) => `<objURI>${uri}</objURI>`).join(''),
    extensions = extensionUris.map((uri) => `<extURI>${uri}</extURI>`).join(''),
  } = changes;
  return command(
    `<login><clID>${clID}</clID><pw>${pw}</pw>${newPW}<options><version>${version}</version><lang>${lang}</lang></options>` +
      `<svcs>${objects}<svcExtension>${extensions}</svcExtension></svcs></login>`,
  );
}

async function openSession(port = epp.server.port, changes = {}): Promise<RawClient> {
  const client = await open(port);
  assert.equal(codeOf(await client.ask(login(changes))), 1000);
  return client;
}

function codeOf(answer: string | undefined): number {
  return Number(/<result code="(\d+)">/.exec(answer ?? '')?.[1]);
}

const domain = (verb: string, inner: string) =>
  `<${verb}><domain:${verb} xmlns:domain="${DOMAIN}">${inner}</domain:${verb}></${verb}>`;
const check = command(domain('check', '<domain:name>some.com</domain:name>'));

test('the greeting says what is served, and hello repeats it', async () => {
  const client = openRawClient(epp.server.port);
  clients.push(client);
  const greeting = (await client.next()) ?? '';
  for (const uri of [...OBJECT_URIS, ...extensionUris]) assert.ok(greeting.includes(`URI>${uri}</`), uri);
  assert.match(greeting, /<svDate>2026-03-01T12:00:00\.000Z<\/svDate>/);
  assert.equal(await client.ask(`<epp xmlns="${EPP}"><hello/></epp>`), greeting);
});

test('answers repeat the client’s transaction id, and each has one of the server’s', async () => {
  const client = await openSession();
  const first = await client.ask(check);
  const second = await client.ask(check);
  const ids = [first, second].map((answer) => /<trID><clTRID>raw-1<\/clTRID><svTRID>(.+)<\/svTRID>/.exec(answer)?.[1]);
  assert.ok(ids[0] && ids[1] && ids[0] !== ids[1]);
  assert.doesNotMatch(await client.ask(command('<poll op="req"/>', '')), /<clTRID>/);
});

test('commands that a client sends ahead are answered in their order', async () => {
  const client = await openSession();
  for (let i = 0; i < 20; i += 1) client.send(command('<poll op="req"/>', `<clTRID>ahead-${i}</clTRID>`));
  for (let i = 0; i < 20; i += 1) assert.match((await client.next()) ?? '', new RegExp(`<clTRID>ahead-${i}</clTRID>`));
});

test('before the login there is only hello and login, after it no second one, after logout nothing', async () => {
  const client = await open();
  assert.equal(codeOf(await client.ask(check)), 2002);
  assert.equal(codeOf(await client.ask(command('<logout/>'))), 2002);
  assert.equal(codeOf(await client.ask(login())), 1000);
  assert.equal(codeOf(await client.ask(login())), 2002);
  client.send(command('<logout/>'));
  client.send(check);
  assert.equal(codeOf(await client.next()), 1500);
  assert.equal(await client.next(), undefined);
});

test('the third login that fails ends the session', async () => {
  const client = await open();
  assert.equal(codeOf(await client.ask(login({ pw: 'wrong-password' }))), 2200);
  assert.equal(codeOf(await client.ask(login({ clID: 'nobody' }))), 2200);
  assert.equal(codeOf(await client.ask(login({ pw: 'wrong-password' }))), 2501);
  assert.equal(await client.next(), undefined);
});

test('a login must agree with what is served', async () => {
  const client = await open();
  assert.equal(codeOf(await client.ask(login({ version: '2.0' }))), 2100);
  assert.equal(codeOf(await client.ask(login({ lang: 'tlh' }))), 2102);
  assert.equal(codeOf(await client.ask(login({ objects: '<objURI>urn:x:email</objURI>' }))), 2307);
  assert.equal(codeOf(await client.ask(login({ extensions: '<extURI>urn:x:magic</extURI>' }))), 2103);
  assert.equal(codeOf(await client.ask(command('<login><clID>someone</clID></login>'))), 2003);
  assert.equal(codeOf(await client.ask(login())), 1000);
});

test('a login may set a new password, which holds from then on', async () => {
  const { registrarId } = epp.theirs;
  await epp.core.ensureRegistrar({ id: registrarId, name: 'Theirs', password: 'old-password' });
  await openSession(epp.server.port, { clID: registrarId, pw: 'old-password', newPW: '<newPW>new-password</newPW>' });
  const client = await open();
  assert.equal(codeOf(await client.ask(login({ clID: registrarId, pw: 'old-password' }))), 2200);
  assert.equal(codeOf(await client.ask(login({ clID: registrarId, pw: 'new-password' }))), 1000);
});

test('objects and extensions that the login did not name are not there', async () => {
  const client = await openSession(epp.server.port, {
    objects: `<objURI>${DOMAIN}</objURI>`,
    extensions: `<extURI>${RGP}</extURI>`,
  });
  const contact = `<check><contact:check xmlns:contact="${CONTACT}"><contact:id>abc</contact:id></contact:check></check>`;
  assert.equal(codeOf(await client.ask(command(contact))), 2307);
  const fee = `<extension><fee:check xmlns:fee="${FEE}"><fee:command name="create"/></fee:check></extension>`;
  assert.equal(codeOf(await client.ask(command(domain('check', '<domain:name>a.com</domain:name>') + fee))), 2103);
  await epp.register('signed.com');
  const ds = { keyTag: 1, algorithm: 13, digestType: 2, digest: 'AB'.repeat(32) };
  done(await epp.core.updateDomain(epp.ours, { name: 'signed.com', dsRecords: { set: [ds] } }));
  const info = command(domain('info', '<domain:name>signed.com</domain:name>'));
  assert.ok(!(await client.ask(info)).includes(SEC_DNS));
  assert.ok((await (await openSession()).ask(info)).includes(SEC_DNS));
});

test('each fault of a command has its code, and the session goes on', async () => {
  const client = await openSession();
  const name = '<domain:name>fault.com</domain:name>';
  const host = 'urn:ietf:params:xml:ns:host-1.0';
  const cases: Record<string, [number, string]> = {
    'not XML': [2001, 'hello there'],
    'not EPP': [2001, '<html/>'],
    'no command': [2000, `<epp xmlns="${EPP}"><greeting/></epp>`],
    'unknown command': [2000, command('<destroy/>')],
    'unknown object': [2307, command('<check><e:check xmlns:e="urn:x:email"/></check>')],
    'verb and object differ': [2001, command(`<check><domain:info xmlns:domain="${DOMAIN}"/></check>`)],
    'no object': [2003, command('<check/>')],
    'no name': [2003, command(domain('check', ''))],
    'not of this object': [2101, command(`<renew><h:renew xmlns:h="${host}"/></renew>`)],
    'unknown op of poll': [2005, command('<poll op="peek"/>')],
    'ack of nothing': [2003, command('<poll op="ack"/>')],
    'ack of another message': [2303, command('<poll op="ack" msgID="99999"/>')],
    'unknown transfer': [
      2005,
      command(`<transfer op="steal"><d:transfer xmlns:d="${DOMAIN}"><d:name>a.com</d:name></d:transfer></transfer>`),
    ],
    'period in words': [2005, command(domain('create', `${name}<domain:period>two</domain:period>`))],
    'period too long': [2004, command(domain('create', `${name}<domain:period>100</domain:period>`))],
    'no registrant': [2003, command(domain('create', name))],
    'bad date': [2005, command(domain('renew', `${name}<domain:curExpDate>soon</domain:curExpDate>`))],
    'no such name': [2303, command(domain('info', name))],
    'status of the registry': [
      2306,
      command(domain('update', `${name}<domain:add><domain:status s="serverHold"/></domain:add>`)),
    ],
    'authInfo of another kind': [
      2102,
      command(domain('info', `${name}<domain:authInfo><domain:ext/></domain:authInfo>`)),
    ],
    'transaction id too long': [2004, command('<poll op="req"/>', `<clTRID>${'x'.repeat(65)}</clTRID>`)],
  };
  for (const [what, [code, xml]] of Object.entries(cases)) {
    const answer = await client.ask(xml);
    assert.equal(codeOf(answer), code, `${what}: ${answer}`);
    assert.match(answer, /<svTRID>/);
  }
  assert.equal(codeOf(await client.ask(check)), 1000);
});

test('a store that fails answers 2400 and nothing of its insides', async () => {
  const client = await openSession();
  const { checkDomains } = epp.core;
  epp.core.checkDomains = () => Promise.reject(new Error('password of the database'));
  const answer = await client.ask(check);
  epp.core.checkDomains = checkDomains;
  assert.equal(codeOf(answer), 2400);
  assert.doesNotMatch(answer, /database/);
  assert.equal(codeOf(await client.ask(check)), 1000);
});

test('a restoration asks for no report, and costs what it costs', async () => {
  const client = await openSession();
  await epp.register('restored.com');
  const restoring = (op: string, inner = '') =>
    command(
      domain('update', '<domain:name>restored.com</domain:name><domain:chg/>') +
        `<extension><rgp:update xmlns:rgp="${RGP}"><rgp:restore op="${op}">${inner}</rgp:restore></rgp:update></extension>`,
    );
  assert.equal(codeOf(await client.ask(restoring('request'))), 2304);
  const texts = ['preData', 'postData', 'delTime', 'resTime', 'resReason', 'statement', 'statement'].map(
    (local) => `<rgp:${local}>2026-01-01T00:00:00Z</rgp:${local}>`,
  );
  assert.equal(codeOf(await client.ask(restoring('report', `<rgp:report>${texts.join('')}</rgp:report>`))), 2304);
});

const hostile: Record<string, Buffer | string> = {
  'a huge length': Buffer.from([0xff, 0xff, 0xff, 0xff]),
  'a length above the limit': (() => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(MAX_FRAME_BYTES + 1);
    return bytes;
  })(),
  'no length': Buffer.from([0, 0, 0, 0]),
  'a length shorter than itself': Buffer.from([0, 0, 0, 3, 1, 2, 3]),
  'another protocol': 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n',
};

for (const [what, bytes] of Object.entries(hostile)) {
  test(`${what} ends that connection and no other`, async () => {
    const bystander = await openSession();
    const client = await openSession();
    client.socket.write(bytes);
    assert.equal(await client.next(), undefined);
    assert.equal(codeOf(await bystander.ask(check)), 1000);
  });
}

test('a frame that is cut short by its sender does no harm', async () => {
  const client = await openSession();
  client.socket.write(Buffer.from([0, 0, 4, 0, 0x3c]));
  client.socket.destroy();
  await once(client.socket, 'close');
  assert.equal(codeOf(await (await openSession()).ask(check)), 1000);
});

test('documents made to burst a parser are faults like any other', async () => {
  const client = await openSession();
  const bomb = `<!DOCTYPE epp [<!ENTITY a "${'ha'.repeat(1_000)}"><!ENTITY b "${'&a;'.repeat(1_000)}">]><epp>&b;</epp>`;
  assert.equal(codeOf(await client.ask(bomb)), 2001);
  assert.equal(codeOf(await client.ask('<a>'.repeat(100_000))), 2001);
  assert.equal(codeOf(await client.ask(`<a>${'<b/>'.repeat(200_000)}</a>`)), 2001);
  const names = '<domain:name>a.com</domain:name>'.repeat(5_000);
  assert.equal(codeOf(await client.ask(command(domain('check', names)))), 2306);
  client.socket.write(Buffer.from([0, 0, 0, 7, 0xff, 0xfe, 0xfd]));
  assert.equal(codeOf(await client.next()), 2001);
  assert.equal(codeOf(await client.ask(check)), 1000);
});

test('limits', async (t) => {
  // A server for each, so that on a busy machine no other limit is met first.
  const limited = async (limits: Partial<EppServerLimits>) => {
    const strict = await openTestEpp(database.db, { limits });
    t.after(() => strict.close());
    return { port: strict.server.port, mine: { clID: strict.ours.registrarId } };
  };
  await t.test('a second session is refused, until the first has ended', async () => {
    const { port, mine } = await limited({ maxSessionsPerRegistrar: 1 });
    const first = await openSession(port, mine);
    const second = await open(port);
    assert.equal(codeOf(await second.ask(login(mine))), 2502);
    assert.equal(await second.next(), undefined);
    assert.equal(codeOf(await first.ask(command('<logout/>'))), 1500);
    assert.equal(await first.next(), undefined);
    await openSession(port, mine);
  });
  await t.test('a frame that is not finished ends a connection', async () => {
    const { port, mine } = await limited({ frameTimeoutMs: 300 });
    const stalled = await openSession(port, mine);
    stalled.socket.write(Buffer.from([0, 0]));
    assert.equal(await stalled.next(), undefined);
  });
  await t.test('silence ends a connection', async () => {
    const { port, mine } = await limited({ idleTimeoutMs: 3_000 });
    assert.equal(await (await openSession(port, mine)).next(), undefined);
  });
  await t.test('a missing login ends a connection', async () => {
    const { port } = await limited({ loginTimeoutMs: 500 });
    assert.equal(await (await open(port)).next(), undefined);
  });
  await t.test('connections above the limit are dropped', async () => {
    const { port } = await limited({ maxConnections: 3 });
    await Promise.all([open(port), open(port), open(port)]);
    const tooMany = openRawClient(port);
    assert.equal(await tooMany.next(), undefined);
  });
});

test('where clients have to show a certificate, those without one are refused', async (t) => {
  const strict = await startEppServer({
    core: epp.core,
    tls: { ...testTls, clientCaFile: testTls.certificateFile },
    port: 0,
    registrars: [],
    logger: silent,
  });
  t.after(() => strict.stop());
  assert.equal(await openRawClient(strict.port).next(), undefined);
  const own = { key: readFileSync(testTls.keyFile), cert: testCa };
  const client = openRawClient(strict.port, own);
  clients.push(client);
  assert.match((await client.next()) ?? '', /<greeting>/);
});

test('old versions of TLS are refused', async () => {
  const options = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' } as const;
  const { socket } = openRawClient(epp.server.port, options);
  const [error] = await once(socket, 'error').catch((thrown: Error) => [thrown]);
  assert.equal(error.code, 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION');
});
