/** Each habit of the file, over EPP and TLS, as a client of another registrar's making meets it. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { after, afterEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Habits } from '../../src/command-line/domains/epp-server/habits-schema.ts';
import { readHabits } from '../../src/command-line/domains/epp-server/read-habits.ts';
import { serveRegistry } from '../../src/command-line/domains/epp-server/serve-registry.ts';
import { commandElement, type EppCommand } from '../../src/domains/registry/epp/commands/command.ts';
import type { TradeCommand } from '../../src/domains/registry/epp/commands/trade.ts';
import { EPP, FEE, frnicUri } from '../../src/domains/registry/epp/namespaces.ts';
import { writeXml } from '../../src/domains/registry/epp/xml/write-xml.ts';
import type { LaunchPhaseName } from '../../src/domains/registry/registry.ts';
import { readBill } from '../../src/domains/registry/simulated/index.ts';
import { createManualClock } from '../../src/kernel/clock/clock.ts';
import { waitFor } from '../boot/server-process.ts';
import type { Share } from '../conformance/take-turns.ts';
import { openTestDatabase } from './database.ts';
import { openRawClient, type RawClient, silent, testTls } from './epp.ts';
import { DAY_MS, done } from './simulated-registry.ts';

export async function testServedRegistries(share: Share): Promise<void> {
  const soakTest = share === 'all' ? test : undefined;
  const database = await openTestDatabase();
  const { db } = database;
  after(() => database.close());
  let ending: (() => unknown)[] = [];
  // Registries share their tables: one whose clock is years ahead would renew the names of the next test.
  afterEach(async () => {
    for (const end of ending.reverse()) await end();
    ending = [];
  });

  const START = new Date('2026-03-01T12:00:00Z');
  const READY_MS = 30_000;
  /** More than an answer takes on a busy machine. */
  const LATE_MS = 3_000;
  let count = 0;

  interface Client {
    readonly greeting: string;
    /** The code of the answer and the whole of it; undefined: the server has hung up. */
    ask(command: EppCommand): Promise<readonly [code: number, answer: string] | undefined>;
    readonly raw: RawClient;
  }

  /** A registry of those habits, with two registrars that no other test has. `habits` may name them. */
  async function serve(habits: Habits | ((ours: string) => Habits)) {
    count += 1;
    const [ours, theirs] = [`ours-${count}`, `theirs-${count}`];
    const clock = createManualClock(START);
    const registry = await serveRegistry({
      ...{ db, clock, tls: testTls, port: 0, logger: silent },
      habits: typeof habits === 'function' ? habits(ours) : habits,
      registrars: [ours, theirs].map((id) => ({ id, name: id, password: 'secret-1' })),
    });
    ending.push(() => registry.stop());

    async function open(clientId = ours): Promise<Client> {
      const raw = openRawClient(registry.port);
      ending.push(() => raw.socket.destroy());
      const greeting = (await raw.next()) ?? '';
      const offered = (tag: string) => [...greeting.matchAll(new RegExp(`<${tag}>(.*?)</${tag}>`, 'g'))];
      const [objectUris = [], extensionUris = []] = ['objURI', 'extURI'].map((tag) =>
        offered(tag).map(([, uri = '']) => uri),
      );
      const ask: Client['ask'] = async (command) => {
        raw.send(writeXml(commandElement(command, `test-${count}`)));
        const answer = await raw.next();
        return answer === undefined ? undefined : [Number(/<result code="(\d+)">/.exec(answer)?.[1]), answer];
      };
      const login = { clientId, password: 'secret-1', version: '1.0', language: 'en', objectUris, extensionUris };
      const [code] = (await ask({ kind: 'login', ...login })) ?? [];
      assert.equal(code, 1000);
      return { greeting, ask, raw };
    }
    return { ...registry, clock, open, ours, theirs };
  }

  const creation = (name: string, registrant?: string) =>
    ({ kind: 'domain:create', name, years: 1, registrant, contacts: [], dsRecords: [], authInfo: 'secret-2' }) as const;
  const info = (name: string) => ({ kind: 'domain:info', name }) as const;
  const check = (...names: string[]) => ({ kind: 'domain:check', names }) as const;
  const contact = (id: string, disclose?: boolean) =>
    ({
      kind: 'contact:create',
      ...{ id, email: 'ada@example.net', authInfo: 'secret-3', disclose },
      postalInfo: [{ type: 'int', name: 'Ada', street: ['1 Mill Lane'], city: 'London', country: 'GB' }],
    }) as const;
  const codeOf = async (client: Client, command: EppCommand) => (await client.ask(command))?.[0];

  soakTest?.('contacts are refused, or what may be shown of them', async () => {
    const none = await (await serve({ protocol: { contacts: 'none' } })).open();
    assert.ok(!none.greeting.includes('contact-1.0'));
    assert.equal(await codeOf(none, contact('ANYBODY')), 2307);
    assert.equal(await codeOf(none, creation('named-somebody.com', 'ANYBODY')), 2306);
    assert.equal(await codeOf(none, creation('named-nobody.com')), 1001);

    const open = await (await serve({ protocol: { contacts: 'no_disclose' } })).open();
    assert.equal(await codeOf(open, contact('HIDDEN', false)), 2102);
    assert.equal(await codeOf(open, contact('SHOWN')), 1000);

    const { open: openRefusing } = await serve({ answers: [{ answer: 2306, commands: ['contact'] }] });
    const refusing = await openRefusing();
    assert.equal(await codeOf(refusing, contact('REFUSED')), 2306);
    assert.equal(await codeOf(refusing, info('taken-elsewhere.com')), 1000);
  });

  test('the greeting has the models and extensions of the file, and no others', async () => {
    const plain = (await (await serve({})).open()).greeting;
    const other = await serve((ours) => ({
      protocol: {
        hosts: 'attributes',
        dnssec: 'none',
        fee_versions: ['0.11', '0.5'],
        name_store: { com: 'dotCOM' },
        idn: { extension: 'idnLang', tables: ['SPA'] },
        claims: { 'brand.com': '2013041500/2/6/9/rJ1NrDO92vDsAzf7EQzgjX4R0000000001' },
      },
      limits: { credit: { [ours]: 10 } },
    }));
    const told = (await other.open()).greeting;
    const has = (greeting: string) =>
      [
        'host-1.0',
        'secDNS-1.1',
        'fee-1.0',
        'fee-0.11',
        'fee-0.5',
        'namestoreExt',
        'idnLang',
        'launch-1.0',
        'balance-1.0',
      ]
        .filter((part) => greeting.includes(part))
        .join(' ');
    const sunrise = await serve({ protocol: { sunrise: { zones: ['com'], applications: true } } });
    assert.match((await sunrise.open()).greeting, /launch-1\.0/);
    assert.equal(has(plain), 'host-1.0 secDNS-1.1 fee-1.0');
    assert.equal(has(told), 'fee-0.11 fee-0.5 namestoreExt idnLang launch-1.0 balance-1.0');
    const client = await other.open();
    assert.match((await client.ask(info('taken-elsewhere.com')))?.[1] ?? '', /NameStore Extension not provided/);
    assert.equal(await codeOf(client, { ...info('taken-elsewhere.com'), subProduct: 'dotCOM' }), 1000);

    const { open: openFree } = await serve({ protocol: { fee_versions: [], dnssec: 'keys' } });
    const free = await openFree();
    assert.equal(has(free.greeting), 'host-1.0 secDNS-1.1');
  });

  test('habits that change hold from the next command on, in sessions that are open too', async () => {
    const registry = await serve({ sells: { tlds: ['com'] } });
    const client = await registry.open();
    assert.equal(await codeOf(client, info('taken-elsewhere.com')), 1000);
    await registry.change({
      sells: { tlds: ['net'], registered: { [registry.ours]: ['bought.net'] } },
      answers: [{ answer: 2400, commands: ['info'] }],
      out_of_band: [{ event: 'registered', name: 'by-hand.net', registrar: registry.ours }],
      messages: { unknown: ['The registry moves.'] },
    });
    assert.equal(await codeOf(client, info('taken-elsewhere.com')), 2400);
    const [, answer = ''] = (await client.ask(check('free.com', 'free.net', 'bought.net'))) ?? [];
    assert.deepEqual(
      [...answer.matchAll(/<domain:name avail="(\d)">([^<]*)/g)].map(([, free, name]) => `${name} ${free}`),
      ['free.com 0', 'free.net 1', 'bought.net 0'],
    );
    const isThere = async () => {
      const [, found = ''] = (await client.ask(check('by-hand.net'))) ?? [];
      return found.includes('avail="0"') || undefined;
    };
    await waitFor('the name that is registered by hand', READY_MS, isThere);

    // A command that is not answered is followed by one that is.
    await registry.change({
      sells: { tlds: ['net'] },
      answers: [{ answer: 'silent' }],
      messages: { unknown: ['The registry moves.'] },
    });
    client.raw.send(writeXml(commandElement(info('bought.net'), 'unanswered')));
    client.raw.send('<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><hello/></epp>');
    assert.match((await client.raw.next()) ?? '', /<greeting>/);
    await registry.change({ sells: { tlds: ['net'] }, protocol: { contacts: 'none' } });
    assert.equal(await codeOf(client, info('bought.net')), 1000);
    assert.ok(!(await registry.open()).greeting.includes('contact-1.0'), 'a new session agrees on what is so now');
    assert.match(
      (await client.ask({ kind: 'poll', operation: 'req' }))?.[1] ?? '',
      /<msgQ count="1"/,
      'what was told is not told again',
    );
  });

  test('habits that cannot be are refused, and those before hold', async () => {
    const registry = await serve({ sells: { tlds: ['net'] } });
    const client = await registry.open();
    const impossible: Habits = {
      sells: { tlds: ['net'], registered: { [registry.ours]: ['sold.museum'] } },
      answers: [{ answer: 2400 }],
    };
    await assert.rejects(registry.change(impossible), /sells\.registered: sold\.museum was not registered/);
    assert.equal(await codeOf(client, info('taken-elsewhere.com')), 1000);
  });

  test('in a sunrise names are taken with a signed mark alone', async () => {
    const { open } = await serve({ sells: { tlds: ['com', 'net'] }, protocol: { sunrise: { zones: ['net'] } } });
    const client = await open();
    assert.match(client.greeting, /launch-1\.0/);
    await codeOf(client, contact('MARKED'));
    assert.match((await client.ask(creation('brand.net', 'MARKED')))?.[1] ?? '', /signed mark/);
    assert.equal(await codeOf(client, creation('brand.com', 'MARKED')), 1001);
  });

  soakTest?.(
    'in a phase of a launch names come with its name, and cost an application beside their registration',
    async () => {
      const phase = { phase: 'custom', name: 'founders' } as const;
      const launches = [{ ...phase, zones: ['net'], applications: true, application_fee: 80 }];
      const { core, open } = await serve({ sells: { tlds: ['com', 'net'] }, protocol: { launches } });
      const client = await open();
      assert.match(client.greeting, /launch-1\.0/);
      await codeOf(client, contact('FOUNDER'));
      assert.match((await client.ask(creation('brand.net', 'FOUNDER')))?.[1] ?? '', /the phase is custom founders/);
      const pricesIn = async (asked: LaunchPhaseName) => {
        const fees = { uri: FEE, commands: [{ name: 'create', years: 1, phase: asked }] } as const;
        const [, answer = ''] = (await client.ask({ ...check('brand.net'), fees })) ?? [];
        return [...answer.matchAll(/<fee:fee[^>]*>([^<]*)/g)].map(([, amount]) => Number(amount) * 100);
      };
      assert.deepEqual(await pricesIn(phase), [8_000, core.feesOf('brand.net')?.createCents]);
      assert.deepEqual(await pricesIn({ phase: 'sunrise' }), []);
      assert.equal(await codeOf(client, creation('outside.com', 'FOUNDER')), 1001);
    },
  );

  test('it sells the TLDs of the file, some names at their own price, some not, and has some sold', async () => {
    const { core, open, ours } = await serve((id) => ({
      sells: {
        tlds: ['net', 'unheard-of'],
        premium: { 'gold.net': 500 },
        reserved: ['kept.net'],
        registered: { [id]: ['sold.net', 'gold-sold.net'] },
      },
    }));
    const client = await open();
    const [, answer] =
      (await client.ask(check('free.net', 'free.unheard-of', 'free.com', 'kept.net', 'sold.net'))) ?? [];
    assert.deepEqual(
      [...(answer ?? '').matchAll(/<domain:name avail="(\d)">([^<]*)/g)].map(([, free, name]) => `${name} ${free}`),
      ['free.net 1', 'free.unheard-of 1', 'free.com 0', 'kept.net 0', 'sold.net 0'],
    );
    assert.deepEqual([core.feesOf('gold.net')?.createCents, core.feesOf('gold.net')?.isPremium], [50_000, true]);
    assert.equal(done(await core.infoDomain({ registrarId: ours }, { name: 'sold.net' })).sponsor, ours);
    await assert.rejects(
      serve((id) => ({ sells: { tlds: ['net'], reserved: ['kept.net'], registered: { [id]: ['kept.net'] } } })),
      /sells\.registered: kept\.net was not registered: kept\.net is reserved/,
    );
  });

  soakTest?.('names take their time, are renewed at their end, and want a report when they are restored', async () => {
    const { clock, core, open, ours } = await serve((id) => ({
      sells: { registered: { [id]: ['kept-on.com'] } },
      terms: { auto_renew_grace_days: 30, restore_reports: true, create_seconds: 7, renew_seconds: 0 },
    }));
    const session = { registrarId: ours };
    const client = await open();
    assert.match((await client.ask(info('kept-on.com')))?.[1] ?? '', /pendingCreate/);
    clock.advance(6_000);
    assert.match((await client.ask(info('kept-on.com')))?.[1] ?? '', /pendingCreate/);
    clock.advance(1_000);
    const { expiresAt } = done(await core.infoDomain(session, { name: 'kept-on.com' }));
    const renewal = { kind: 'domain:renew', name: 'kept-on.com', years: 1 } as const;
    assert.equal(await codeOf(client, { ...renewal, currentExpiryDate: expiresAt.toISOString().slice(0, 10) }), 1000);
    clock.advance(2 * 366 * DAY_MS);
    assert.match((await client.ask(info('kept-on.com')))?.[1] ?? '', /<domain:exDate>2029-03-01/);
    assert.equal(await codeOf(client, { kind: 'domain:delete', name: 'kept-on.com' }), 1001);
    assert.equal(done(await core.restoreDomain(session, { name: 'kept-on.com' })).awaitsReport, true);

    const { core: quick, open: openQuick, theirs } = await serve({ terms: { transfer_seconds: 0 } });
    done(await quick.moveDomain({ name: 'taken-and-quick.com', registrarId: theirs }));
    const transfer = { kind: 'domain:transfer', operation: 'request', name: 'taken-and-quick.com' } as const;
    assert.equal(await codeOf(await openQuick(), { ...transfer, authInfo: 'simulated-auth' }), 1000);
  });

  test('credit, commands and sessions have their limits', async () => {
    const { clock, open, ours, theirs } = await serve((id) => ({
      sells: { tlds: ['unheard-of'] },
      terms: { create_seconds: 0 },
      limits: { credit: { [id]: 24 }, commands_per_minute: 8, session_commands: 4, sessions: 2 },
    }));
    const first = await open();
    const create = async (label: string) => codeOf(first, creation(`${label}.unheard-of`, `LIMIT-${count}`));
    assert.equal(await codeOf(first, contact(`LIMIT-${count}`)), 1000);
    assert.deepEqual([await create('limit-1'), await create('limit-2'), await create('limit-3')], [1000, 1000, 2104]);
    assert.equal(await codeOf(first, { kind: 'balance:info' }), 2500, 'the fifth command of its session');
    assert.equal(await codeOf(first, info('limit-1.unheard-of')), undefined);

    const second = await open();
    const message = (await second.ask({ kind: 'poll', operation: 'req' }))?.[1] ?? '';
    assert.match(message, /Low account balance/);
    assert.match((await second.ask({ kind: 'balance:info' }))?.[1] ?? '', /availableCredit>4\.00</);
    assert.equal(await codeOf(second, check('limit-4.unheard-of')), 1000);
    assert.equal(await codeOf(second, check('limit-4.unheard-of')), 2502, 'the ninth of the minute');
    const others = await open(theirs);
    assert.equal(await codeOf(others, check('limit-4.unheard-of')), 1000, 'each registrar has its own');
    clock.advance(60_000);
    const third = await open();
    assert.equal(await codeOf(third, check('limit-4.unheard-of')), 1000);
    await open();
    await assert.rejects(open(), /2502/, `a third session of ${ours}`);
  });

  soakTest?.('a session without commands is ended', async () => {
    const { open } = await serve({ limits: { idle_seconds: 1 } });
    const { ask, raw } = await open();
    assert.equal((await ask(check('idle.com')))?.[0], 1000);
    assert.equal(await raw.next(), undefined);
  });

  test('commands and names fail for ever, or at a share: 2400, 2104, 2502', async () => {
    const { open, theirs } = await serve({
      answers: [
        { answer: 2400, names: ['stuck-*.com'] },
        { answer: 2104, commands: ['renew'] },
        { answer: 2502, commands: ['info'], names: ['tired.com'] },
        { answer: 2400, commands: ['info'], share: 0.5 },
      ],
    });
    const client = await open();
    for (let tries = 0; tries < 5; tries += 1) {
      assert.equal(await codeOf(client, creation('stuck-for-ever.com', 'ANYBODY')), 2400);
      const renewal = { kind: 'domain:renew', currentExpiryDate: '2027-03-01' } as const;
      assert.equal(await codeOf(client, { ...renewal, name: 'taken-elsewhere.com' }), 2104);
    }
    const codes: (number | undefined)[] = [];
    for (let tries = 0; tries < 60; tries += 1) codes.push(await codeOf(client, info('taken-elsewhere.com')));
    assert.deepEqual([...new Set(codes)].sort(), [1000, 2400]);
    const failed = codes.filter((code) => code === 2400).length;
    assert.ok(failed > 10 && failed < 50, `${failed} of 60 fail`);
    const tired = await open(theirs);
    assert.equal(await codeOf(tired, info('tired.com')), 2502);
    assert.equal(await codeOf(tired, info('tired.com')), undefined, 'which ends the session');
  });

  test('a name is said not to be there, or to be another’s, and a check shows it as free', async () => {
    const { open } = await serve((ours) => ({
      sells: { registered: { [ours]: ['denied.com', 'theirs-they-say.com', 'there.com'] } },
      terms: { create_seconds: 0 },
      answers: [
        { answer: 2303, names: ['denied.com'] },
        { answer: 2201, names: ['theirs-they-say.com'] },
      ],
    }));
    const client = await open();
    assert.equal(await codeOf(client, info('denied.com')), 2303);
    assert.equal(await codeOf(client, info('theirs-they-say.com')), 2201);
    assert.equal(await codeOf(client, info('there.com')), 1000);
    const [, answer = ''] = (await client.ask(check('denied.com', 'there.com'))) ?? [];
    assert.match(answer, /avail="1">denied\.com[\s\S]*avail="0">there\.com/);
  });

  soakTest?.('answers are late, do not come, or are cut off once the command was carried out', async () => {
    const { core, open, ours } = await serve((id) => ({
      sells: { registered: { [id]: ['muted.com', 'cut-off.com', 'late.com'] } },
      terms: { create_seconds: 0 },
      answers: [
        { answer: 'silent', commands: ['delete'], names: ['muted.com'] },
        { answer: 'cut', commands: ['delete'] },
        { answer: 'late', late_ms: LATE_MS, names: ['late.com'] },
      ],
    }));
    const [{ ask, raw }, other] = [await open(), await open()];
    const order: string[] = [];
    const late = ask(info('late.com')).then((answer) => {
      order.push('late');
      return answer;
    });
    assert.equal((await other.ask(info('muted.com')))?.[0], 1000);
    order.push('in time');
    assert.equal((await late)?.[0], 1000);
    assert.deepEqual(order, ['in time', 'late']);
    raw.send(writeXml(commandElement({ kind: 'domain:delete', name: 'muted.com' }, 'muted-1')));
    assert.match((await ask(info('muted.com')))?.[1] ?? '', /<domain:clID>/, 'nothing came, and the name is there');
    assert.equal(await ask({ kind: 'domain:delete', name: 'cut-off.com' }), undefined);
    const gone = await core.infoDomain({ registrarId: ours }, { name: 'cut-off.com' });
    assert.equal(gone.ok ? 1000 : gone.code, 2303);
  });

  test('answers leave out dates, or are no XML', async () => {
    const { open } = await serve((id) => ({
      sells: { registered: { [id]: ['undated.com', 'garbled.com'] } },
      answers: [
        { answer: 'undated', names: ['undated.com'] },
        { answer: 'garbled', names: ['garbled.com'] },
      ],
    }));
    const client = await open();
    const [code, undated = ''] = (await client.ask(info('undated.com'))) ?? [];
    assert.deepEqual([code, /<domain:(crDate|exDate)>/.test(undated)], [1000, false]);
    assert.match(undated, /<domain:clID>/);
    const [, garbled = ''] = (await client.ask(info('garbled.com'))) ?? [];
    assert.match(garbled, /<\/epp$/);
  });

  soakTest?.('another holder is a trade, which takes the time of the file, and is refused as an update', async () => {
    const { clock, open, ours } = await serve((id) => ({
      sells: { tlds: ['fr'], registered: { [id]: ['traded.fr', 'refused.fr'] } },
      terms: { create_seconds: 0, trade_seconds: 60 },
      protocol: { trade: 'frnic-1.2' },
      answers: [{ answer: 2400, commands: ['trade'], names: ['refused.fr'] }],
    }));
    const client = await open();
    assert.match(client.greeting, /frnic-1\.2/);
    const id = `NEXT-${count}`;
    await client.ask({ ...contact(id), postalInfo: [{ ...contact(id).postalInfo[0], name: 'Grace' }] });
    const trade = (name: string): TradeCommand =>
      ({
        ...{ kind: 'domain:trade', operation: 'request', uri: frnicUri('1.2'), name, registrant: id },
        ...{ contacts: [], keepsKeys: true },
      }) as const;
    assert.equal(await codeOf(client, { kind: 'domain:update', name: 'traded.fr', registrant: id }), 2308);
    const renamed = { kind: 'contact:update', ...{ id, addStatuses: [], removeStatuses: [] } } as const;
    assert.equal(await codeOf(client, { ...renamed, postalInfo: contact(id).postalInfo }), 2308);
    assert.equal(await codeOf(client, { ...renamed, postalInfo: [], email: 'grace@example.net' }), 1000);
    assert.equal(await codeOf(client, trade('refused.fr')), 2400);
    assert.equal(await codeOf(client, trade('traded.fr')), 1001);
    assert.equal(await codeOf(client, trade('traded.fr')), 2300);
    clock.advance(60_000);
    assert.match((await client.ask(info('traded.fr')))?.[1] ?? '', new RegExp(`registrant>${id}<`));
    const [, message = ''] = (await client.ask({ kind: 'poll', operation: 'req' })) ?? [];
    assert.match(message, new RegExp(`trStatus>serverApproved<[\\s\\S]*reID>${ours}<[\\s\\S]*reHldID>${id}<`));
    assert.deepEqual(
      (await readBill(db, ours)).map(({ kind }) => kind),
      ['create', 'create', 'trade'],
    );
    assert.equal(await codeOf(await (await serve({})).open(), { ...trade('com.com'), uri: frnicUri('2.0') }), 2103);
  });

  soakTest?.('messages come newest first, twice, and of no kind that one knows', async () => {
    const { open } = await serve({
      messages: { newest_first: true, twice: true, unknown: ['the older', 'the newer'] },
    });
    const { ask } = await open();
    const seen: string[] = [];
    for (;;) {
      const [code, answer] = (await ask({ kind: 'poll', operation: 'req' })) ?? [0, ''];
      if (code === 1300) break;
      seen.push(/<msg>(the \w+)<\/msg>/.exec(answer)?.[1] ?? answer);
      const messageId = /msgQ [^>]*id="(\d+)"/.exec(answer)?.[1] ?? '';
      await ask({ kind: 'poll', operation: 'ack', messageId });
    }
    assert.deepEqual(seen, ['the newer', 'the newer', 'the older', 'the older']);
  });

  soakTest?.(
    'a name of ours is moved to another registrar, and one is registered for us, with no word about either',
    async () => {
      const { clock, open, ours, theirs } = await serve((id) => ({
        sells: { registered: { [id]: ['moved-away.com'] } },
        terms: { create_seconds: 0 },
        out_of_band: [
          { event: 'moved', name: 'moved-away.com', after_seconds: 60 },
          { event: 'registered', name: 'not-ordered.com', registrar: id, after_seconds: 60 },
          { event: 'registered', name: 'snatched.com' },
          { event: 'moved', name: 'not-there-yet.com', registrar: id.replace('ours', 'theirs') },
        ],
      }));
      const client = await open();
      const sponsorOf = async (name: string) =>
        /<domain:clID>([^<]*)/.exec((await client.ask(info(name)))?.[1] ?? '')?.[1];
      const become = (name: string, sponsor: string) =>
        waitFor(`${sponsor} as the registrar of ${name}`, READY_MS, async () =>
          (await sponsorOf(name)) === sponsor ? true : undefined,
        );
      // As the service locks its names: what is moved by hand is moved all the same.
      const lock = { statuses: ['clientTransferProhibited'], contacts: [] };
      await become('snatched.com', 'elsewhere');
      assert.deepEqual([await sponsorOf('moved-away.com'), await sponsorOf('not-ordered.com')], [ours, undefined]);
      assert.equal(await codeOf(client, { kind: 'domain:update', name: 'moved-away.com', add: lock }), 1000);
      clock.advance(60_000);
      await become('moved-away.com', 'elsewhere');
      await become('not-ordered.com', ours);
      assert.equal(await codeOf(client, contact(`LATER-${count}`)), 1000);
      assert.equal(await codeOf(client, creation('not-there-yet.com', `LATER-${count}`)), 1000);
      await become('not-there-yet.com', theirs);
      assert.equal(await codeOf(client, { kind: 'poll', operation: 'req' }), 1300, 'nobody is told');
    },
  );

  test('the files that come with the program are registries', async () => {
    const folder = fileURLToPath(new URL('../../examples/registries/', import.meta.url));
    const files = (await readdir(folder)).sort();
    assert.deepEqual(files, ['erring.yaml', 'renewing.yaml', 'thin.yaml', 'trading.yaml']);
    for (const file of files) {
      const habits = await readHabits(`${folder}${file}`, ['demo']);
      const { open } = await serve({ ...habits, sells: {}, limits: {}, out_of_band: [] });
      assert.ok((await open()).greeting.includes(EPP), file);
    }
  });
}
