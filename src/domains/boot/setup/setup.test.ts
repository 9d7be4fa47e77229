import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openTestDatabase } from '../../../../test/support/database.ts';
import { openTestEpp, PASSWORD, silent, testTls } from '../../../../test/support/epp.ts';
import { ConfigError } from '../../../kernel/config/config.ts';
import { applicationOf, priceCents } from '../../prices/price.ts';
import { createPriceBook } from '../../prices/price-book.ts';
import { chooseTable } from '../../registry/epp/idn-tables.ts';
import { changeEppPassword, createEppRegistry, tryEppLogin } from '../../registry/epp/index.ts';
import { FEE_URIS, feeDraftUri, frnicUri, IDN_LANG, LAUNCH, NAME_STORE, RGP } from '../../registry/epp/namespaces.ts';
import { readSetup } from './read-setup.ts';
import { rotatePassword } from './rotate-password.ts';

const database = await openTestDatabase();
const epp = await openTestEpp(database.db);
const folder = await mkdtemp(join(tmpdir(), 'setup-'));
after(async () => {
  await epp.close();
  await database.close();
  await rm(folder, { recursive: true, force: true });
});
const passwordFile = join(folder, 'alpha.password');
await writeFile(passwordFile, `${PASSWORD}\n`);

const alpha = {
  id: 'alpha',
  endpoint: `epps://127.0.0.1:${epp.server.port}`,
  client_id: epp.ours.registrarId,
  password: { file: 'alpha.password' },
  ca_file: testTls.certificateFile,
};
const com = { tld: 'com', registry: 'alpha' };

async function write(name: string, content: unknown): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

async function problemsOf(content: unknown, name = 'wrong.json'): Promise<string[]> {
  const path = await write(name, content);
  try {
    await readSetup(path, { ALPHA: 'secret-1' });
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.problems.map((problem) => problem.replace(`${path}: `, ''));
  }
  assert.fail('it was taken');
}

test('a registry has the version of the fee extension, and the product, that the file names', async () => {
  const read = async (members: object) => {
    const setup = await readSetup(
      await write('extensions.json', { registries: [{ ...alpha, ...members }], tlds: [com] }),
      {},
    );
    return setup.registries[0];
  };
  const feesIn = (uris: readonly string[] = []) => uris.filter((uri) => uri.includes('fee-'));
  const plain = await read({});
  assert.equal(feesIn(plain?.extensionUris).length, FEE_URIS.length, 'whichever it has');
  assert.equal(plain?.extensionUris?.includes(NAME_STORE), false);
  assert.equal(plain?.subProductOf, undefined);
  const older = await read({ fees: { version: '0.9', currency: 'USD' }, name_store: { com: 'dotTEST' } });
  assert.deepEqual(feesIn(older?.extensionUris), [feeDraftUri('0.9')]);
  assert.deepEqual(older?.fees, { currency: 'USD' });
  assert.ok(older?.extensionUris?.includes(NAME_STORE));
  assert.deepEqual([older?.subProductOf?.('com'), older?.subProductOf?.('net')], ['dotTEST', 'dotNET']);
  assert.deepEqual(feesIn((await read({ fees: false }))?.extensionUris), []);
  assert.deepEqual((await read({ extensions: ['rgp'], name_store: true }))?.extensionUris, [RGP, NAME_STORE]);
  for (const wrong of [{ fees: { version: '0.10' } }, { name_store: { com: '' } }, { name_store: 'com' }]) {
    assert.notDeepEqual(await problemsOf({ registries: [{ ...alpha, ...wrong }], tlds: [com] }), []);
  }
});

test('what the daily look at a registry’s names may take is in the file, or follows from what it takes in an hour', async () => {
  const commandsOf = async (members: object) => {
    const path = await write('look.json', { registries: [{ ...alpha, ...members }], tlds: [com] });
    const [options] = (await readSetup(path, {})).registries;
    assert.ok(options);
    const adapter = createEppRegistry({ ...options, logger: silent });
    return adapter.members[0]?.dailyLook?.commands;
  };
  assert.equal(await commandsOf({}), 36_000);
  assert.equal(await commandsOf({ commands: { per_second: 20 } }), 36_000);
  assert.equal(await commandsOf({ commands: { per_minute: 7 } }), 420);
  assert.equal(await commandsOf({ commands: { per_minute: 7 }, daily_look: { commands: 100 } }), 100);
  for (const wrong of [{ commands: 0 }, {}, { commands: 10, names: 3 }]) {
    assert.notDeepEqual(await problemsOf({ registries: [{ ...alpha, daily_look: wrong }], tlds: [com] }), []);
  }
});

test('a registry trades holders in the form of the file, at a price that each of its TLDs has', async () => {
  const trading = { ...alpha, trade: 'frnic-1.4' };
  const year = { currency: 'EUR', register: 5, renew: 5, transfer: 5 };
  const fr = (prices: object) => ({ tld: 'fr', registry: 'alpha', prices: [prices] });
  const tlds = [fr({ cost: { ...year, trade: 8 }, margin: { percent: 15, add: 1 } }), { tld: 'it', registry: 'alpha' }];
  const { prices, registries } = await readSetup(await write('trades.json', { registries: [trading], tlds }), {});
  const [registry] = registries;
  assert.equal(registry?.tradeUri, frnicUri('1.4'));
  assert.ok(registry.extensionUris?.includes(frnicUri('1.4')));
  assert.deepEqual(
    prices.tlds.map(({ periods: [{ retail }] }) => retail.tradeCents),
    [1_020, 1_490],
  );
  const given = await readSetup(
    await write('given.json', { registries: [trading], tlds: [fr({ cost: year, retail: { trade: 0 } })] }),
    {},
  );
  assert.equal(given.prices.tlds[0]?.periods[0].retail.tradeCents, 0);
  const missing = await problemsOf({ registries: [trading], tlds: [fr({ cost: year })] });
  assert.deepEqual(missing, ['tlds[0].prices[0].trade: give it in retail, or in cost: its registry trades holders']);
  const nobody = await problemsOf({ registries: [{ ...trading, contacts: 'none' }], tlds });
  assert.deepEqual(nobody, ['registries[0].trade: names without contacts have no holder']);
  assert.match((await problemsOf({ registries: [{ ...alpha, trade: 'frnic' }], tlds })).join(), /trade/);
});

test('a TLD has the IDN tables of the file, by script or by their characters', async () => {
  const read = async (idn: object) =>
    (await readSetup(await write('idn.json', { registries: [alpha], tlds: [{ ...com, idn }] }), {})).registries[0];
  const spanish = { tag: 'SPA', characters: 'áéíñóúü' };
  const registry = await read({ extension: 'idnLang', tables: [spanish, { tag: 'RUS', script: 'Cyrillic' }] });
  const rules = registry?.idnRulesOf?.('com');
  assert.ok(rules !== undefined && registry?.extensionUris?.includes(IDN_LANG));
  assert.deepEqual([chooseTable('xn--ao-zja.com', rules), chooseTable('xn--b1agh1afp.com', rules)].map(tableOf), [
    'SPA',
    'RUS',
  ]);
  assert.equal(registry?.idnRulesOf?.('net'), undefined);
  const wrong = [{ tag: 'x' }, { tag: 'x', script: 'Klingon' }];
  for (const table of wrong) {
    const tlds = [{ ...com, idn: { extension: 'idn', tables: [table] } }];
    assert.match((await problemsOf({ registries: [alpha], tlds })).join(), /script/);
  }
});

function tableOf(chosen: ReturnType<typeof chooseTable>): string {
  return typeof chosen === 'string' ? chosen : chosen.table;
}

test('a TLD has registrants verified from the day of the file on', async () => {
  const tlds = [
    { ...com, verify_registrants_from: '2031-01-01' },
    { ...com, tld: 'net' },
  ];
  const { prices } = await readSetup(await write('verified.json', { registries: [alpha], tlds }), {});
  const days = prices.tlds.map(({ terms }) => terms.verifyRegistrantsFrom);
  assert.deepEqual(days, [new Date('2031-01-01'), undefined]);
  const wrong = [{ ...com, verify_registrants_from: 'now' }];
  const problems = await problemsOf({ registries: [alpha], tlds: wrong });
  assert.match(problems.join(), /verify_registrants_from/);
});

test('a TLD has changes of registrants wait for consents, and locks transfers for sixty days or as the file says', async () => {
  const changes = { consent: true };
  const tlds = [
    { ...com, registrant_changes: changes },
    { ...com, tld: 'net', registrant_changes: { ...changes, lock_days: 0, designated_agent: true } },
    { ...com, tld: 'org' },
  ];
  const { prices } = await readSetup(await write('consents.json', { registries: [alpha], tlds }), {});
  assert.deepEqual(
    prices.tlds.map(({ terms }) => [terms.changeLockDays, terms.changeAgent]),
    [
      [60, false],
      [0, true],
      [undefined, undefined],
    ],
  );
  const wrong = [{ ...com, registrant_changes: { ...changes, lock_days: 61 } }];
  assert.match((await problemsOf({ registries: [alpha], tlds: wrong })).join(), /lock_days/);
});

test('a TLD that is being launched is so until the day of the file', async () => {
  const launch = { phase: 'claims', until: '2031-01-01' };
  const { registries } = await readSetup(
    await write('launch.json', { registries: [alpha], tlds: [{ ...com, launch }] }),
    {},
  );
  assert.deepEqual(registries[0]?.launchPhaseOf?.('com'), { phase: 'claims', until: new Date('2031-01-01') });
  assert.ok(registries[0]?.extensionUris?.includes(LAUNCH));
  const sunrise = { phase: 'sunrise', applications: true };
  const applied = await readSetup(
    await write('sunrise.json', { registries: [alpha], tlds: [{ ...com, launch: sunrise }] }),
    {},
  );
  assert.deepEqual(applied.registries[0]?.launchPhaseOf?.('com'), sunrise);
});

test('applications of a launch have a price, and a phase of the registry its name', async () => {
  const launch = {
    phase: 'custom',
    name: 'founders',
    applications: true,
    refunds_lost: true,
    requires: 'claims_notice',
  };
  const prices = [
    { cost: { currency: 'EUR', register: 10, renew: 10, transfer: 10, application: 40 }, margin: { percent: 25 } },
  ];
  const tlds = [{ ...com, launch: { ...launch, until: '2031-01-01' }, prices }];
  const setup = await readSetup(await write('applications.json', { registries: [alpha], tlds }), {});
  const { refunds_lost, ...told } = launch;
  assert.deepEqual(setup.registries[0]?.launchPhaseOf?.('com'), { ...told, until: new Date('2031-01-01') });
  const book = createPriceBook(setup.prices);
  const during = book.find('com', new Date('2030-12-31'));
  assert.deepEqual(during && applicationOf(during), { cents: 5_000, isRefunded: refunds_lost });
  assert.equal(during && priceCents(during, 'registration', 2), 7_500);
  const afterwards = book.find('com', new Date('2031-01-01'));
  assert.equal(afterwards && priceCents(afterwards, 'registration', 2), 2_500);

  const wrong: readonly (readonly [tld: object, problem: RegExp])[] = [
    [{ launch: { phase: 'custom' } }, /a custom phase is known by its name/],
    [{ launch: { phase: 'sunrise', requires: 'nothing' } }, /a sunrise is for holders/],
    [{ launch: { phase: 'landrush', refunds_lost: true } }, /say `applications: true` too/],
    [{ prices }, /applications have a price, so say `applications: true`/],
    [{ launch: { phase: 'gold rush' } }, /phase/],
  ];
  for (const [tld, problem] of wrong) {
    assert.match((await problemsOf({ registries: [alpha], tlds: [{ ...com, ...tld }] })).join(), problem);
  }
  assert.match(
    (await problemsOf({ tlds: [{ tld: 'com', launch: { phase: 'landrush' } }] })).join(),
    /which of the registries/,
  );
});

test('notices of trademark claims come from where the file says, with a password that is read at each call', async () => {
  const read = async (claims_notices: object) =>
    (
      await readSetup(await write('notices.json', { registries: [alpha], tlds: [com], claims_notices }), {
        NOTICES: 'n-1',
      })
    ).noticeService;
  const service = { url: 'https://notices.example/cnis/', user: 'registrar-1', password: { file: 'notices.password' } };
  await write('notices.password', 'first\n');
  const found = await read(service);
  assert.deepEqual(
    [found?.url, found?.user, await found?.password()],
    ['https://notices.example/cnis', 'registrar-1', 'first'],
  );
  await write('notices.password', 'second\n');
  assert.equal(await found?.password(), 'second');
  assert.equal(await (await read({ ...service, password: { env: 'NOTICES' } }))?.password(), 'n-1');
  const wrong = [
    { url: 'ftp://notices.example' },
    { url: 'https://user@notices.example' },
    { url: 'https://notices.example/?key=1' },
    { user: 'a:b' },
    { password: 'itself' },
    { password: { file: 'none' } },
    { password: { env: 'NONE' } },
  ];
  for (const part of wrong) {
    const problems = await problemsOf({ registries: [alpha], tlds: [com], claims_notices: { ...service, ...part } });
    assert.match(problems.join(), /^claims_notices\./, JSON.stringify(part));
  }
});

test('RDAP is answered in the name of the registrar, and in ICANN’s profile where all is there that it wants', async () => {
  const registrar = { name: 'Example', abuse_email: 'abuse@registrar.example' };
  const known = { ...registrar, iana_id: 9_999, abuse_phone: '+44.2071234567' };
  const profile = {
    terms_url: 'https://registrar.example/terms',
    registrant_contact: 'mailto:registrants@registrar.example',
    icann_profile: true,
  };
  const read = async (parts: object) =>
    (await readSetup(await write('rdap.json', { registries: [alpha], tlds: [com], ...parts }), {})).rdap;
  assert.deepEqual(await read({ registrar, rdap: true }), registrar);
  assert.equal(await read({ registrar, rdap: false }), undefined);
  assert.equal(await read({ registrar }), undefined);
  assert.deepEqual(await read({ registrar: known, rdap: profile }), { ...known, ...profile });
  const { terms_url: _, ...noTerms } = profile;
  const refused = async (parts: object) => problemsOf({ registries: [alpha], tlds: [com], ...parts });
  assert.deepEqual(await refused({ rdap: true }), ['rdap: say who the registrar is: `registrar`']);
  assert.deepEqual(await refused({ registrar, rdap: noTerms }), [
    'rdap.icann_profile: the profile wants registrar.iana_id, registrar.abuse_phone, rdap.terms_url as well',
  ]);
  for (const part of [{ terms_url: 'ftp://registrar.example' }, { registrant_contact: 'me@registrar.example' }]) {
    assert.notDeepEqual(await refused({ registrar: known, rdap: { ...profile, ...part } }), [], JSON.stringify(part));
  }
});

test('JSON and YAML say the same', async () => {
  const json = await readSetup(await write('same.json', { registries: [alpha], tlds: [com] }), {});
  const lines = Object.entries(alpha).map(([key, value]) => `    ${key}: ${JSON.stringify(value)}`);
  const yaml = `registries:\n  -\n${lines.join('\n')}\ntlds:\n  - { tld: com, registry: alpha }\n`;
  const other = await readSetup(await write('same.yaml', yaml), {});
  assert.deepEqual(
    [other.prices, other.registries.map(({ password: _, ...rest }) => rest)],
    [json.prices, json.registries.map(({ password: _, ...rest }) => rest)],
  );
});

test('what is wrong is told by the member that has it, all at once', async () => {
  const cases: [unknown, RegExp[]][] = [
    [{}, [/^must have required properties tlds/]],
    [{ tlds: [] }, [/^tlds: must not have fewer than 1/]],
    [
      { registries: [{ ...alpha, password: 'secret-1' }], tlds: [com] },
      [/^registries\[0\]\.password: say where it is/],
    ],
    [{ registries: [{ ...alpha, hots: 'objects' }], tlds: [com] }, [/^registries\[0\]\.hots: is no member/]],
    [{ registries: [{ ...alpha, connections: 0 }], tlds: [com] }, [/^registries\[0\]\.connections: must be >= 1/]],
    [{ registries: [{ ...alpha, commands: {} }], tlds: [com] }, [/^registries\[0\]\.commands: say `per_second` or/]],
    [
      { registries: [{ ...alpha, commands: { per_second: 1, per_minute: 7 } }], tlds: [com] },
      [/^registries\[0\]\.commands: say `per_second` or `per_minute`, one of them/],
    ],
    [
      { registries: [{ ...alpha, commands: { per_minute: 0 } }], tlds: [com] },
      [/^registries\[0\]\.commands\.per_minute: must be >= 1/],
    ],
    [{ registries: [{ ...alpha, endpoint: 'https://x' }], tlds: [com] }, [/^registries\[0\]\.endpoint: use epps:/]],
    [{ registries: [{ ...alpha, password: { file: 'none' } }], tlds: [com] }, [/^registries\[0\]\.password: .*none/]],
    [{ registries: [{ ...alpha, password: { env: 'NONE' } }], tlds: [com] }, [/^registries\[0\]\.password: .*no NONE/]],
    [{ registries: [{ ...alpha, ca_file: 'none' }], tlds: [com] }, [/^registries\[0\]\.ca_file: /]],
    [{ registries: [alpha, alpha], tlds: [com] }, [/^registries\[1\]\.id: alpha is there twice/]],
    [
      { registries: [alpha], tlds: [{ tld: 'com' }, { tld: 'net', registry: 'beta' }] },
      [
        /^tlds\[0\]\.registry: say which/,
        /^tlds\[1\]\.registry: there is no registry beta/,
        /^registries\[0\]: no TLD/,
      ],
    ],
    [{ registries: [{ ...alpha, dnssec: 'both' }], tlds: [com] }, [/^registries\[0\]\.dnssec: /]],
    [{ tlds: [{ tld: 'com' }, { tld: 'com' }] }, [/^tlds\[1\]\.tld: com is there twice/]],
    [{ tlds: [{ tld: 'museum' }] }, [/^tlds\[0\]\.prices: give prices/]],
    [
      { tlds: [{ tld: 'museum', prices: [{ retail: { register: 1, renew: 1 } }] }] },
      [/^tlds\[0\]\.prices\[0\]\.transfer/],
    ],
    [
      { tlds: [{ tld: 'com', prices: [{ cost: { currency: 'USD', register: 1 } }] }] },
      [/^tlds\[0\]\.prices\[0\]\.cost\.currency: currencies has no rate for USD/],
    ],
    [
      { tlds: [{ tld: 'com', prices: [{ from: '2027-01-01' }, { from: '2026-01-01' }] }] },
      [/^tlds\[0\]\.prices\[1\]\.from: each begins later/],
    ],
    [
      { tlds: [{ tld: 'com', promotions: [{ from: '2027-02-01', until: '2027-01-01', register: 1 }] }] },
      [/^tlds\[0\]\.promotions\[0\]\.until/],
    ],
  ];
  for (const [content, wanted] of cases) {
    const problems = await problemsOf(content);
    assert.equal(problems.length, wanted.length, problems.join('\n'));
    wanted.forEach((pattern, index) => {
      assert.match(problems[index] ?? '', pattern);
    });
    assert.ok(!problems.join('\n').includes('secret-1'));
  }
  assert.match((await problemsOf('tlds: [', 'wrong.yaml')).join(), /cannot be read/);
});

test('a password is changed at the registry and in its file, and a change that was cut off is finished', async () => {
  const { registries } = await readSetup(await write('rotate.json', { registries: [alpha], tlds: [com] }), {});
  const [endpoint] = registries;
  assert.ok(endpoint !== undefined);
  assert.equal(await rotatePassword({ endpoint, passwordFile }), 'changed');
  const changed = (await readFile(passwordFile, 'utf8')).trim();
  assert.notEqual(changed, PASSWORD);
  assert.equal((await stat(passwordFile)).mode & 0o077, 0);
  await tryEppLogin(endpoint);
  await assert.rejects(tryEppLogin({ ...endpoint, password: PASSWORD }), /2200/);

  // The registry has changed it, and the process ended before the file was there.
  await writeFile(`${passwordFile}.next`, 'cut-off-1\n');
  await changeEppPassword(endpoint, 'cut-off-1');
  assert.equal(await rotatePassword({ endpoint, passwordFile }), 'finished');
  assert.equal((await readFile(passwordFile, 'utf8')).trim(), 'cut-off-1');

  // The process ended before the registry was told.
  await writeFile(`${passwordFile}.next`, 'never-told\n');
  assert.equal(await rotatePassword({ endpoint, passwordFile }), 'changed');
  await tryEppLogin(endpoint);
});

test('a password that is longer than the standard’s goes by the login security extension', async () => {
  const long = 'a password of many words, and more than sixteen characters';
  const endpoint = {
    host: '127.0.0.1',
    port: epp.server.port,
    clientId: epp.theirs.registrarId,
    tls: { ca: await readFile(testTls.certificateFile) },
  };
  await changeEppPassword({ ...endpoint, password: 'their-password' }, long);
  await tryEppLogin({ ...endpoint, password: long });
  await assert.rejects(tryEppLogin({ ...endpoint, password: `${long}!` }), /2200/);
  await assert.rejects(tryEppLogin({ ...endpoint, password: long, extensionUris: [] }), /RFC 8807/);
});

test('how many commands a registry takes is said for a second or a minute', async () => {
  const rateOf = async (commands: object) => {
    const { registries } = await readSetup(
      await write('rate.json', { registries: [{ ...alpha, commands }], tlds: [com] }),
      {},
    );
    return registries[0]?.commandRate;
  };
  assert.deepEqual(await rateOf({ per_minute: 7 }), { commands: 7, perMs: 60_000 });
  assert.deepEqual(await rateOf({ per_second: 20 }), { commands: 20, perMs: 1_000 });
});
