/** Registries that speak older drafts of the fee extension, are several behind one server, want an IDN table, or launch a TLD: our adapter against our server, over TLS. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { openRawClient, openTestEpp, PASSWORD, type TestEpp, testCreation } from '../../../../test/support/epp.ts';
import { markDocument, signedMark } from '../../../../test/support/signed-mark.ts';
import { type AcceptedNotice, noticeIdOf } from '../claims-notices.ts';
import { commandElement } from './commands/command.ts';
import { feeAnswersElement, feeQuestionElement, readFeeAnswers, readFeeQuestion } from './commands/fee.ts';
import type { IdnTable } from './commands/idn.ts';
import { findClaims, findLaunchCreate } from './commands/launch.ts';
import type { EppRegistryOptions, LaunchPhase, ServerHabits } from './index.ts';
import { DOMAIN, FEE, FEE_DRAFTS, FEE_URIS, feeDraftUri, IDN, IDN_LANG, LAUNCH, NAME_STORE } from './namespaces.ts';
import { parseXml } from './xml/parse-xml.ts';
import { writeXml } from './xml/write-xml.ts';

let database: TestDatabase;
const opened: TestEpp[] = [];
before(async () => {
  database = await openTestDatabase();
});
after(async () => {
  for (const epp of opened) await epp.close();
  await database.close();
});

let count = 0;

async function serve(habits: Partial<ServerHabits>): Promise<TestEpp> {
  const special = { premium: new Map([['gold.com', 50_000]]), reserved: new Set<string>() };
  const epp = await openTestEpp(database.db, { habits, special, delays: { createSeconds: 0, renewSeconds: 0 } });
  opened.push(epp);
  return epp;
}

async function open(habits: Partial<ServerHabits>, options: Partial<EppRegistryOptions> = { fees: {} }) {
  const epp = await serve(habits);
  return { epp, registry: await epp.connect(options) };
}

function newName(zone = 'com'): string {
  count += 1;
  return `older-${count}.${zone}`;
}

/** One server that speaks every version of the extension for fees: each client chooses. */
let fees: TestEpp;
before(async () => {
  fees = await serve({ feeUris: FEE_URIS });
});

for (const uri of FEE_URIS) {
  test(`prices are asked for and agreed to in ${uri}`, async () => {
    const registry = await fees.connect({ fees: {}, extensionUris: [uri] });
    const name = newName();
    const found = await registry.check([name, 'gold.com', 'a.nowhere']);
    assert.deepEqual(
      found.map(({ fees }) => fees?.create?.cents),
      [1_000, 50_000, undefined],
    );
    assert.deepEqual(
      [found[0]?.fees?.renew?.cents, found[0]?.fees?.transfer?.cents, found[0]?.fees?.create?.currency],
      [1_100, 900, 'EUR'],
    );
    // Only the class says so in the drafts.
    assert.equal(found[1]?.fees?.create?.isPremium, true);
    const fee = await registry.feeOf({ command: 'create', name, years: 1 });
    assert.equal(fee?.cents, 1_000);
    const cheaper = { currency: 'EUR', cents: 999 };
    const refused = await registry.create({ ...testCreation(name), fee: cheaper });
    assert.equal(refused.kind, 'rejected', 'the registry is told what was agreed to');
    const created = await registry.create({ ...testCreation(name), fee });
    assert.equal(created.kind, 'completed');
    const renewal = await registry.feeOf({ command: 'renew', name, years: 2 });
    assert.equal(renewal?.cents, 2_200);
    const info = await registry.info(name);
    const renewed = await registry.renew({
      name,
      transactionId: `renew-${name}`,
      years: 2,
      currentExpiresAt: info?.expiresAt ?? '',
      fee: renewal,
    });
    assert.equal(renewed.kind, 'completed');
  });
}

test('of several versions the newest is used, unless another is named', async () => {
  const feeUris = [feeDraftUri('0.5'), feeDraftUri('0.9'), feeDraftUri('0.11')];
  const { epp, registry } = await open({ feeUris });
  assert.equal((await registry.feeOf({ command: 'create', name: newName(), years: 1 }))?.cents, 1_000);
  const older = await epp.connect({ fees: {}, extensionUris: [feeDraftUri('0.5')] });
  assert.equal((await older.feeOf({ command: 'create', name: newName(), years: 1 }))?.cents, 1_000);
  const none = await epp.connect({ fees: {}, extensionUris: [FEE] });
  assert.equal(await none.feeOf({ command: 'create', name: newName(), years: 1 }), undefined);
});

/** As the drafts' own examples have them: draft-brown-epp-fees-03 to -07, draft-ietf-regext-epp-fees-00 and -06. */
const QUESTIONS: Readonly<Record<(typeof FEE_DRAFTS)[number], (name: string) => string>> = {
  '0.5': ofEach,
  '0.6': ofEach,
  '0.7': ofEach,
  '0.8': ofEach,
  '0.9': (name) =>
    `<fee:object objURI="${DOMAIN}"><fee:objID element="name">${name}</fee:objID><fee:currency>EUR</fee:currency>` +
    '<fee:command phase="open">create</fee:command><fee:period unit="y">2</fee:period></fee:object>',
  '0.11': () =>
    '<fee:command>create</fee:command><fee:currency>EUR</fee:currency><fee:period unit="y">2</fee:period><fee:class>standard</fee:class>',
  '0.21': () =>
    '<fee:currency>EUR</fee:currency><fee:command name="create"><fee:period unit="y">2</fee:period></fee:command>',
};
const ANSWERS: Readonly<Record<(typeof FEE_DRAFTS)[number], (name: string) => RegExp>> = {
  '0.5': toEach,
  '0.6': toEach,
  '0.7': toEach,
  '0.8': toEach,
  '0.9': (name) => new RegExp(`<fee:cd><fee:objID>${name}</fee:objID>${CURRENCY}${COMMAND}${PERIOD}${COST}</fee:cd>`),
  '0.11': (name) =>
    new RegExp(
      `<fee:cd avail="1"><fee:object><domain:name [^>]*>${name}</domain:name></fee:object>${COMMAND}${CURRENCY}${PERIOD}${COST}</fee:cd>`,
    ),
  '0.21': (name) =>
    new RegExp(
      `${CURRENCY}<fee:cd avail="1"><fee:objID>${name}</fee:objID><fee:command name="create">${PERIOD}${COST}</fee:command></fee:cd>`,
    ),
};
const CURRENCY = '<fee:currency>EUR</fee:currency>';
const COMMAND = '<fee:command>create</fee:command>';
const PERIOD = '<fee:period unit="y">2</fee:period>';
const COST = '<fee:fee>20.00</fee:fee>';

function ofEach(name: string): string {
  return (
    `<fee:domain><fee:name>${name}</fee:name><fee:currency>EUR</fee:currency>` +
    '<fee:command phase="open">create</fee:command><fee:period unit="y">2</fee:period></fee:domain>'
  );
}

function toEach(name: string): RegExp {
  return new RegExp(`<fee:cd><fee:name>${name}</fee:name>${CURRENCY}${COMMAND}${PERIOD}${COST}</fee:cd>`);
}

for (const draft of FEE_DRAFTS) {
  test(`a client that asks as the draft of fee-${draft} has it is answered so`, async () => {
    const uri = feeDraftUri(draft);
    const client = openRawClient(fees.server.port);
    assert.match((await client.next()) ?? '', new RegExp(uri.replaceAll('.', '\\.')));
    await client.ask(
      `<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><command><login><clID>${fees.ours.registrarId}</clID><pw>${PASSWORD}</pw>` +
        `<options><version>1.0</version><lang>en</lang></options><svcs><objURI>${DOMAIN}</objURI>` +
        `<svcExtension><extURI>${uri}</extURI></svcExtension></svcs></login><clTRID>raw-1</clTRID></command></epp>`,
    );
    const name = newName();
    const answer = await client.ask(
      `<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><command><check><domain:check xmlns:domain="${DOMAIN}"><domain:name>${name}</domain:name>` +
        `</domain:check></check><extension><fee:check xmlns:fee="${uri}">${QUESTIONS[draft](name)}</fee:check></extension>` +
        '<clTRID>raw-2</clTRID></command></epp>',
    );
    assert.match(answer, ANSWERS[draft](name));
    client.socket.destroy();
  });
}

const subProducts = { com: 'dotCOM', net: 'dotNET', 'co.uk': 'dotUK' };
const subProductOf = (zone: string) => `dot${zone.toUpperCase()}`;

test('each command to a server of several registries says for which it is, hosts and contacts too', async () => {
  const { registry } = await open({ subProducts }, { extensionUris: [NAME_STORE, FEE], subProductOf, fees: {} });
  const [one, other] = [newName('com'), newName('net')];
  // One check a registry, in the order in which they were asked for.
  const found = await registry.check([other, one, newName('net')]);
  assert.deepEqual(
    found.map(({ availability, name }) => [availability, name === one || name === other]),
    [
      ['reserved', true],
      ['available', true],
      ['reserved', false],
    ],
    'the registry of net is not sold here, and that of com is',
  );
  assert.equal((await registry.create(testCreation(one))).kind, 'completed');
  const info = await registry.info(one);
  assert.equal(info?.isPrivate, true, 'its contact is found');
  const nameservers = [`ns1.${count}.example`, `ns2.${count}.example`];
  assert.equal((await registry.update({ name: one, transactionId: 'up-1', nameservers })).kind, 'completed');
  assert.equal((await registry.delete({ name: one, transactionId: 'del-1' })).kind, 'completed');
});

test('a command that names no registry, or a wrong one, is told so in the words of the server', async () => {
  const { epp, registry } = await open({ subProducts }, { extensionUris: [NAME_STORE] });
  const [found] = await registry.check([newName()]);
  assert.match(found?.reason ?? '', /namestoreExt/);
  const wrong = await epp.connect({ extensionUris: [NAME_STORE], subProductOf: () => 'dotNOWHERE' });
  const outcome = await wrong.create(testCreation(newName()));
  assert.equal(outcome.kind === 'rejected' && outcome.code, 'policy');
  const misplaced = await epp.connect({ extensionUris: [NAME_STORE], subProductOf: () => 'dotNET' });
  const [elsewhere] = await misplaced.check([newName('com')]);
  assert.equal(elsewhere?.availability, 'unknown');
});

const [SPANISH, RUSSIAN] = ['xn--ao-zja.com', 'xn--b1agh1afp.com'];
const tables = [
  { tag: 'es', has: (character: string) => 'áéíñóúü'.includes(character) },
  { tag: 'ru', has: (character: string) => /\p{Script=Cyrillic}/u.test(character) },
];

for (const uri of [IDN, IDN_LANG] as const) {
  test(`an internationalized name is registered in the first table that has its characters (${uri})`, async () => {
    const rules = { uri, tables };
    const idnRulesOf = (zone: string) => (zone === 'com' ? rules : undefined);
    const { registry } = await open({ idn: { uri, tables: ['es', 'ru'] } }, { extensionUris: [uri], idnRulesOf });
    for (const name of [SPANISH, RUSSIAN, newName()]) {
      const outcome = await registry.create(testCreation(name));
      assert.equal(outcome.kind, 'completed', JSON.stringify(outcome));
      await registry.delete({ name, transactionId: `del-${name}` });
    }
    const greek = await registry.create(testCreation('xn--hxakic4aa.com'));
    assert.match(greek.kind === 'rejected' ? greek.reason : '', /no table of the registry has all characters/);
  });
}

test('a registry that wants a table refuses a name that comes without, or in one that it does not have', async () => {
  const idn = { uri: IDN, tables: ['ru'] } as const;
  const { epp, registry } = await open({ idn }, { extensionUris: [IDN] });
  const without = await registry.create(testCreation(RUSSIAN));
  assert.match(without.kind === 'rejected' ? without.reason : '', /needs an IDN table/);
  const other = await epp.connect({ extensionUris: [IDN], idnRulesOf: () => ({ uri: IDN, tables }) });
  const spanish = await other.create(testCreation(SPANISH));
  assert.match(spanish.kind === 'rejected' ? spanish.reason : '', /there is no IDN table es/);
});

test('a table is told as the mappings have it, the name in Unicode with the one of the IETF', () => {
  const textOf = (idn: IdnTable) =>
    writeXml(commandElement({ kind: 'domain:create', name: SPANISH, contacts: [], dsRecords: [], idn }, 'client-1'));
  assert.match(
    textOf({ uri: IDN, table: 'es', unicodeName: 'año.com' }),
    /<idn:data xmlns:idn="urn:ietf:params:xml:ns:idn-1\.0"><idn:table>es<\/idn:table><idn:uname>año\.com<\/idn:uname><\/idn:data>/,
  );
  assert.match(
    textOf({ uri: IDN_LANG, table: 'SPA' }),
    /<idnLang:tag xmlns:idnLang="http:\/\/www\.verisign\.com\/epp\/idnLang-1\.0">SPA<\/idnLang:tag>/,
  );
});

const NOON = new Date('2026-03-01T12:00:00Z');
const TWO_DAYS_MS = 2 * 86_400_000;

test('while a TLD is launched a name that a trademark claims is taken with an accepted notice of it alone, and others as ever', async () => {
  const claimed = newName();
  const claims = new Map([[claimed, '2013041500/2/6/9/rJ1NrDO92vDsAzf7EQzgjX4R0000000001']]);
  const launch = { phase: 'claims', until: new Date('2027-04-01T00:00:00Z') } as const;
  const launchPhaseOf = (zone: string) => (zone === 'com' ? launch : undefined);
  const { epp, registry } = await open({ claims }, { extensionUris: [LAUNCH], launchPhaseOf });
  epp.clock.set(NOON);
  const free = newName();
  const found = await registry.check([claimed, free, 'claims-elsewhere.co.uk']);
  assert.deepEqual(
    found.map(({ launch }) => launch),
    [{ kind: 'claims_notice', lookupKey: claims.get(claimed) }, undefined, undefined],
  );
  assert.deepEqual(await registry.launchDemandOf(claimed), found[0]?.launch);
  const refused = await registry.create(testCreation(claimed));
  assert.match(refused.kind === 'rejected' ? (refused.explanation ?? '') : '', /its notice was not accepted/);
  assert.equal((await registry.check([claimed]))[0]?.availability, 'available', 'nothing was registered');

  const until = new Date(NOON.getTime() + TWO_DAYS_MS);
  const accepted = {
    noticeId: noticeIdOf(claimed.replace('.com', ''), until, '0000000000000000001'),
    notAfter: until.toISOString(),
    acceptedAt: NOON.toISOString(),
  };
  const create = async (claimsNotice: AcceptedNotice, name = claimed) => {
    const outcome = await registry.create({ ...testCreation(name), claimsNotice });
    return outcome.kind === 'rejected' ? outcome.reason : outcome.kind;
  };
  assert.match(
    await create({ ...accepted, noticeId: noticeIdOf('other', until, '0000000000000000001') }),
    /another name/,
  );
  const later = new Date(until.getTime() + 1_000).toISOString();
  assert.match(await create({ ...accepted, notAfter: later }), /another name/, 'its end is in its id');
  epp.clock.set(until);
  assert.match(await create(accepted), /ended before/);
  epp.clock.set(new Date(NOON.getTime() + 3_600_000));
  assert.equal(await create(accepted), 'completed');

  assert.equal((await registry.create(testCreation(free))).kind, 'completed');
  assert.equal(
    await create(accepted, newName()),
    'completed',
    'what no trademark claims needs no notice, and is sent none',
  );
  assert.equal((await registry.create(testCreation('claims-elsewhere.co.uk'))).kind, 'completed');
  // The end of the phase is in the file; the registry says the rest.
  await registry.delete({ name: claimed, transactionId: 'del-claimed' });
  epp.clock.set(launch.until);
  const late = await registry.create(testCreation(claimed));
  assert.match(late.kind === 'rejected' ? late.reason : '', /needs an accepted notice/);
});

test('a registry takes no notice that has ended, and none for a name that nobody claims', async () => {
  const claims = new Map([['ended.com', 'key-1']]);
  const { epp } = await open({ claims });
  epp.clock.set(NOON);
  const client = openRawClient(epp.server.port);
  await client.next();
  await client.ask(
    `<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><command><login><clID>${epp.ours.registrarId}</clID><pw>${PASSWORD}</pw>` +
      `<options><version>1.0</version><lang>en</lang></options><svcs><objURI>${DOMAIN}</objURI>` +
      `<svcExtension><extURI>${LAUNCH}</extURI></svcExtension></svcs></login><clTRID>raw-1</clTRID></command></epp>`,
  );
  const create = (name: string, notice: AcceptedNotice) =>
    client.ask(
      writeXml(
        commandElement(
          {
            kind: 'domain:create',
            name,
            contacts: [],
            dsRecords: [],
            launch: { phase: { phase: 'claims' }, isApplication: false, notice },
          },
          'raw-2',
        ),
      ),
    );
  const until = new Date(NOON.getTime() + TWO_DAYS_MS);
  const noticeId = noticeIdOf('ended', until, '0000000000000000001');
  const accepted = { noticeId, notAfter: until.toISOString(), acceptedAt: NOON.toISOString() };
  assert.match(await create('free.com', accepted), /no trademark claims the name/);
  const tomorrow = new Date(NOON.getTime() + TWO_DAYS_MS / 2).toISOString();
  assert.match(await create('ended.com', { ...accepted, acceptedAt: tomorrow }), /has ended/, 'not accepted yet');
  const before = new Date(NOON.getTime() - TWO_DAYS_MS).toISOString();
  assert.match(await create('ended.com', { ...accepted, acceptedAt: before }), /has ended/, 'accepted too long ago');
  epp.clock.set(until);
  assert.match(await create('ended.com', { ...accepted, acceptedAt: until.toISOString() }), /has ended/);
  client.socket.destroy();
});

test('names are refused in the sunrise of a registry that takes no marks, and where it says nothing of claims', async () => {
  const { registry } = await open({}, { launchPhaseOf: () => ({ phase: 'sunrise' }) });
  const sunrise = await registry.create(testCreation(newName()));
  assert.match(sunrise.kind === 'rejected' ? (sunrise.explanation ?? '') : '', /takes no signed marks/);
  const { registry: mute } = await open({}, { launchPhaseOf: () => ({ phase: 'claims' }) });
  const name = newName();
  assert.equal((await mute.check([name]))[0]?.launch?.kind, 'refused');
  const unknown = await mute.create(testCreation(name));
  assert.match(unknown.kind === 'rejected' ? unknown.reason : '', /does not say whether a trademark claims it/);
});

test('claims are asked for and told as RFC 8334 has it', () => {
  const question = writeXml(
    commandElement({ kind: 'domain:check', names: ['a.com'], claimsIn: { phase: 'claims' } }, 'client-1'),
  );
  assert.match(
    question,
    /<launch:check xmlns:launch="urn:ietf:params:xml:ns:launch-1\.0" type="claims"><launch:phase>claims<\/launch:phase><\/launch:check>/,
  );
  // In the form of the example of section 3.1.1, with names of our own.
  const answer = parseXml(
    Buffer.from(
      `<launch:chkData xmlns:launch="${LAUNCH}"><launch:phase>claims</launch:phase><launch:cd><launch:name exists="0">Free.com</launch:name></launch:cd>` +
        '<launch:cd><launch:name exists="1">claimed.com</launch:name><launch:claimKey validatorID="tmch">key-1</launch:claimKey></launch:cd></launch:chkData>',
    ),
  );
  assert.deepEqual(findClaims([answer]), [
    { name: 'free.com', exists: false },
    { name: 'claimed.com', exists: true, key: 'key-1' },
  ]);
});

test('of several validators the clearinghouse’s key is used', () => {
  const cd = (keys: string) =>
    parseXml(
      Buffer.from(
        `<launch:chkData xmlns:launch="${LAUNCH}"><launch:phase>claims</launch:phase><launch:cd><launch:name exists="1">a.com</launch:name>${keys}</launch:cd></launch:chkData>`,
      ),
    );
  const other = '<launch:claimKey validatorID="sample">key-2</launch:claimKey>';
  assert.equal(findClaims([cd(`${other}<launch:claimKey>key-3</launch:claimKey>`)])?.[0]?.key, 'key-3');
  assert.equal(findClaims([cd(other)])?.[0]?.key, undefined);
});

test('an accepted notice is told as RFC 8334 has it', () => {
  const notice = { noticeId: 'abc', notAfter: '2026-03-03T00:00:00.000Z', acceptedAt: '2026-03-01T00:00:00.000Z' };
  const launch = { phase: { phase: 'claims' }, isApplication: false, notice } as const;
  assert.match(
    writeXml(commandElement({ kind: 'domain:create', name: 'a.com', contacts: [], dsRecords: [], launch }, 'client-1')),
    /<launch:create xmlns:launch="urn:ietf:params:xml:ns:launch-1\.0"><launch:phase>claims<\/launch:phase><launch:notice><launch:noticeID validatorID="tmch">abc<\/launch:noticeID><launch:notAfter>2026-03-03T00:00:00\.000Z<\/launch:notAfter><launch:acceptedDate>2026-03-01T00:00:00\.000Z<\/launch:acceptedDate><\/launch:notice><\/launch:create>/,
  );
});

test('a signed mark is told as RFC 8334 has it, and an application is asked for by its id', () => {
  const textOf = (isApplication: boolean) => {
    const launch = { phase: { phase: 'sunrise' }, signedMark: 'PHNtZD4=', isApplication } as const;
    return writeXml(
      commandElement({ kind: 'domain:create', name: 'a.com', contacts: [], dsRecords: [], launch }, 'client-1'),
    );
  };
  const mark =
    '<launch:phase>sunrise</launch:phase><smd:encodedSignedMark xmlns:smd="urn:ietf:params:xml:ns:signedMark-1.0">PHNtZD4=</smd:encodedSignedMark></launch:create>';
  assert.ok(textOf(false).includes(`<launch:create xmlns:launch="${LAUNCH}">${mark}`));
  assert.ok(textOf(true).includes(`<launch:create xmlns:launch="${LAUNCH}" type="application">${mark}`));
  const application = { id: 'abc123', phase: { phase: 'sunrise' } } as const;
  assert.ok(
    writeXml(commandElement({ kind: 'domain:info', name: 'a.com', application }, 'client-1')).includes(
      `<launch:info xmlns:launch="${LAUNCH}"><launch:phase>sunrise</launch:phase><launch:applicationID>abc123</launch:applicationID></launch:info>`,
    ),
  );
});

test('a code and a mark are told as RFC 8334 has them', () => {
  const mark = markDocument(['gold']);
  const launch = {
    phase: { phase: 'sunrise' },
    isApplication: false,
    validator: 'sample',
    markCode: 'abc',
    mark,
  } as const;
  const create = commandElement({ kind: 'domain:create', name: 'a.com', contacts: [], dsRecords: [], launch }, 'c-1');
  const text = writeXml(create);
  assert.match(
    text,
    /<launch:phase>sunrise<\/launch:phase><launch:codeMark><launch:code validatorID="sample">abc<\/launch:code><mark xmlns="urn:ietf:params:xml:ns:mark-1\.0"><trademark>.*<label>gold<\/label>.*<\/mark><\/launch:codeMark><\/launch:create>/,
  );
  const codeOnly = { ...launch, validator: undefined, mark: undefined };
  const other = commandElement(
    { kind: 'domain:create', name: 'a.com', contacts: [], dsRecords: [], launch: codeOnly },
    'c-2',
  );
  assert.match(
    writeXml(other),
    /<launch:codeMark><launch:code validatorID="tmch">abc<\/launch:code><\/launch:codeMark>/,
  );
});

test('a sunrise takes names with a mark of theirs alone, and applications where it takes those', async () => {
  const sunrise = { zones: ['com'], applications: false };
  const launchPhaseOf = () => ({ phase: 'sunrise' }) as const;
  const { epp, registry } = await open({ sunrise }, { extensionUris: [LAUNCH], launchPhaseOf });
  const name = newName();
  const mark = signedMark({ labels: [name.replace('.com', '')] });
  const without = await epp.connect({ extensionUris: [LAUNCH] });
  const reasonOf = async (creating: ReturnType<typeof registry.create>) => {
    const outcome = await creating;
    return outcome.kind === 'rejected' ? outcome.reason : outcome.kind;
  };
  assert.match(await reasonOf(without.create(testCreation(name))), /needs a signed mark/);
  const applying = await epp.connect({
    extensionUris: [LAUNCH],
    launchPhaseOf: () => ({ phase: 'sunrise', applications: true }),
  });
  const applied = { ...testCreation(name), signedMark: mark, application: { phase: 'sunrise' } } as const;
  assert.match(await reasonOf(applying.create(applied)), /takes no applications/);
  assert.match(await reasonOf(registry.create({ ...testCreation(newName()), signedMark: mark })), /not of/);
  assert.equal(await reasonOf(registry.create({ ...testCreation(name), signedMark: mark })), 'completed');
  assert.equal(await registry.applicationOf({ name, id: 'none', phase: { phase: 'sunrise' } }), undefined);
});

test('a phase is told with its name, and prices are asked for in it, as RFC 8334 and RFC 8748 have it', () => {
  const phase = { phase: 'custom', name: 'limited' } as const;
  const launch = { phase, isApplication: true };
  const create = commandElement({ kind: 'domain:create', name: 'a.com', contacts: [], dsRecords: [], launch }, 'c-1');
  assert.ok(
    writeXml(create).includes(
      `<launch:create xmlns:launch="${LAUNCH}" type="application"><launch:phase name="limited">custom</launch:phase></launch:create>`,
    ),
  );
  assert.throws(
    () => findLaunchCreate([parseXml(Buffer.from(`<create xmlns="${LAUNCH}"><phase>custom</phase></create>`))]),
    /no phase custom/,
  );
  const questionIn = (uri: string) =>
    writeXml(feeQuestionElement({ uri, commands: [{ name: 'create', years: 1, phase }] }, ['a.com']));
  assert.match(questionIn(FEE), /<fee:command name="create" phase="custom" subphase="limited">/);
  for (const version of ['0.11', '0.9', '0.5'] as const) {
    const question = questionIn(feeDraftUri(version));
    assert.match(question, /<fee:command phase="custom" subphase="limited">create<\/fee:command>/, version);
    assert.deepEqual(readFeeQuestion(parseXml(Buffer.from(question))).commands[0]?.phase, phase, version);
  }
});

test('what an application costs stands apart from its registration, and both are added up', () => {
  const application = { amountCents: 4_000, isRefundable: false };
  const answer = { name: 'a.com', commands: [{ name: 'create', years: 1, amountCents: 5_190, application }] } as const;
  const text = writeXml(feeAnswersElement(FEE, 'EUR', [answer]));
  assert.match(text, /<fee:fee description="Application Fee" refundable="0" applied="immediate">40\.00<\/fee:fee>/);
  assert.equal(readFeeAnswers(parseXml(Buffer.from(text)))[0]?.commands[0]?.amountCents, 5_190);
});

test('a name that comes in another phase than the registry is in is refused, and so is a phase that was not told', async () => {
  const custom = { phase: { phase: 'custom', name: 'founders' }, applicationCents: 0 } as const;
  const launches = [{ zones: ['com'], ...custom, applications: false, refundsLost: false }];
  const { epp, registry } = await open(
    { launches },
    { extensionUris: [LAUNCH], launchPhaseOf: () => ({ phase: 'custom', name: 'founders' }) },
  );
  const outcomeOf = async (phase: LaunchPhase | undefined) => {
    const link = await epp.connect({ extensionUris: [LAUNCH], launchPhaseOf: () => phase });
    const outcome = await link.create(testCreation(newName()));
    return outcome.kind === 'rejected' ? outcome.reason : outcome.kind;
  };
  assert.match(await outcomeOf({ phase: 'custom', name: 'others' }), /the phase is custom founders/);
  assert.match(await outcomeOf(undefined), /the phase is custom founders/);
  const applied = await registry.create({ ...testCreation(newName()), application: { phase: 'landrush' } });
  assert.match(applied.kind === 'rejected' ? applied.reason : applied.kind, /came to another phase/);
  assert.equal((await registry.create(testCreation(newName()))).kind, 'completed');
});
