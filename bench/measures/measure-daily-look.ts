/**
 * What it takes to look at 100,000 names in a day: the commands that their registry is asked, over EPP, and the time of the service's own where
 * the registry answers at once.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import pino from 'pino';
import { startEppServer } from '../../src/domains/registry/epp/index.ts';
import { createRegistryCore } from '../../src/domains/registry/simulated/index.ts';
import { systemClock } from '../../src/kernel/clock/clock.ts';
import { connectServer } from '../../src/kernel/db/connect-server.ts';
import { createDatabase } from '../database.ts';
import type { Findings } from '../figure.ts';
import { findFreePort, type Ironcraft, startIroncraft } from '../ironcraft.ts';
import type { BenchContext } from './bench-context.ts';

const NAMES = 100_000;
const QUICK_NAMES = 20_000;
/** Of an hour, at ten a second. */
const COMMANDS = 36_000;
const CHECK_BATCH_SIZE = 50;
const EMAIL = 'look@example.com';
const PRICE = 11.9;
const FIRST_NAME = 'daily-look-0.com';
const HOST = '127.0.0.1';
const PASSWORD = 'bench-password';
const PASSWORD_FILE = 'bench.password';
const PATIENCE_MS = 1_800_000;
const CONTACT = { street: '1 Mill Lane', city: 'London', postal_code: 'EC1', country: 'GB', phone: '+44.2071234567' };

const pathOf = (file: string) => fileURLToPath(new URL(`../../test/epp/tls/${file}`, import.meta.url));
const CERTIFICATE = pathOf('test-only-localhost.crt');

export async function measureDailyLook(context: BenchContext): Promise<Findings> {
  const { database, quick, say } = context;
  if (database === undefined) {
    return { figures: [], remarks: ['The daily look at names is measured on PostgreSQL.'], details: {} };
  }
  const names = quick ? QUICK_NAMES : NAMES;
  say('daily look: a registry that speaks EPP, and a server that sells its names');
  await using served = context.served.use(new AsyncDisposableStack());
  const second = await createDatabase(database.url, '_look');
  served.defer(() => second.drop());
  const folder = await mkdtemp(join(tmpdir(), 'ironcraft-bench-look-'));
  served.defer(() => rm(folder, { recursive: true, force: true }));
  const counts = new Map<string, number>();
  const port = await findFreePort(HOST);
  const setup = join(folder, 'registries.json');
  await writeFile(setup, JSON.stringify(setupFor(port)));
  await writeFile(join(folder, PASSWORD_FILE), PASSWORD, { mode: 0o600 });
  const server = await startIroncraft({
    databaseUrl: second.url,
    profileDir: context.profileDir,
    variables: { IRONCRAFT_DOMAINS_CONFIG_FILE: setup },
  });
  served.defer(() => server.stop());
  // Its tables are among those that the server makes.
  await serveRegistry({ databaseUrl: second.url, port, served, onCommand: (kind) => count(counts, kind) });
  await buyFirst(server);
  await untilSettled(second.client);

  say(`daily look: ${names} names`);
  counts.clear();
  const startMs = performance.now();
  await multiply(second.client, names);
  await untilAllSeen(second.client, names);
  const seconds = (performance.now() - startMs) / 1_000;
  const commands = [...counts].filter(([kind]) => kind.includes(':')).reduce((sum, [, count]) => sum + count, 0);
  return {
    figures: [
      {
        name: `domains: commands that a day's look at ${names} names takes`,
        value: commands,
        unit: '',
        bar: { atMost: COMMANDS },
      },
      { name: 'domains: the same, with a registry that answers at once', value: seconds, unit: 's' },
    ],
    remarks: [
      `The look at ${names} names: ${[...counts].map(([kind, count]) => `${count} ${kind}`).join(', ')}. At ten a second these are ` +
        `${Math.round(commands / 10 / 60)} minutes.`,
    ],
    details: { names, seconds, commands: Object.fromEntries(counts) },
  };
}

function count(counts: Map<string, number>, kind: string): void {
  counts.set(kind, (counts.get(kind) ?? 0) + 1);
}

interface RegistryParts {
  readonly databaseUrl: string;
  readonly port: number;
  readonly served: AsyncDisposableStack;
  readonly onCommand: (kind: string) => void;
}

async function serveRegistry({ databaseUrl, port, served, onCommand }: RegistryParts): Promise<void> {
  const db = await connectServer({ url: databaseUrl, poolSize: 4 });
  served.defer(() => db.close());
  const fees = { createCents: 900, renewCents: 900, transferCents: 900, restoreCents: 8_000, tradeCents: 900 };
  const core = createRegistryCore({
    db,
    clock: systemClock,
    prices: () => fees,
    delays: { createSeconds: 0, renewSeconds: 0 },
  });
  const server = await startEppServer({
    core,
    tls: { keyFile: pathOf('test-only-localhost.key'), certificateFile: CERTIFICATE },
    host: HOST,
    port,
    registrars: [{ id: 'bench', name: 'Benchmark', password: PASSWORD }],
    logger: pino({ level: 'silent' }),
    deliver: ({ kind }) => void onCommand(kind),
  });
  served.defer(() => server.stop());
}

function setupFor(port: number) {
  const registry = {
    id: 'bench',
    endpoint: `epps://${HOST}:${port}`,
    client_id: 'bench',
    password: { file: PASSWORD_FILE },
    ca_file: CERTIFICATE,
    server_name: 'localhost',
    check_batch_size: CHECK_BATCH_SIZE,
  };
  return { registries: [registry], tlds: [{ tld: 'com', registry: 'bench' }] };
}

async function buyFirst(server: Ironcraft): Promise<void> {
  const account = (await server.callDomains('', 'POST', '/accounts', { email: EMAIL })) as {
    token: { token: string };
  };
  const { token } = account.token;
  await server.runVerb('domains', 'wallet', 'top-up', '--workspace', EMAIL, '--cents', '10000', '--note', 'benchmark');
  await server.callDomains(token, 'PATCH', '/registrant', { contact: CONTACT });
  await server.callDomains(token, 'POST', '/domains', { domain: FIRST_NAME, confirm_price: PRICE });
}

/** It is locked against transfers once it is registered: a copy made before that would be locked too. */
async function untilSettled(client: pg.Client): Promise<void> {
  await until('the first name is settled', async () => {
    const { rowCount } = await client.query(
      `select from domains.domains where change_wanted is null and snapshot -> 'statuses' ? 'clientTransferProhibited'`,
    );
    return rowCount === 1;
  });
}

/**
 * Copies of that name, at the registry and in the portfolio, each with a contact of its own. Their terms end on the days of a year; they were
 * last seen a day ago, and read within the week before.
 */
async function multiply(client: pg.Client, names: number): Promise<void> {
  const name = `'daily-look-' || n || '.com'`;
  const expiresAt = `now() + interval '1 day' + (n % 365) * interval '1 day'`;
  await client.query('begin');
  const copies: readonly [table: string, where: string, members: Readonly<Record<string, string>>][] = [
    [
      'registry_contacts',
      `id = (select registrant from domains.registry_domains where name = '${FIRST_NAME}')`,
      { id: `'look-' || n`, roid: `'C' || n || '-LOOK'` },
    ],
    [
      'registry_domains',
      `name = '${FIRST_NAME}'`,
      { name, registrant: `'look-' || n`, roid: `'D' || n || '-LOOK'`, expires_at: expiresAt },
    ],
    ['registry_domain_contacts', `domain_name = '${FIRST_NAME}'`, { domain_name: name, contact_id: `'look-' || n` }],
    ['registry_domain_hosts', `domain_name = '${FIRST_NAME}'`, { domain_name: name }],
    [
      'domains',
      `name = '${FIRST_NAME}'`,
      {
        id: `'dom_look' || n`,
        name,
        snapshot: `jsonb_set(snapshot, '{name}', to_jsonb(${name}))`,
        expires_at: expiresAt,
        billed_until: expiresAt,
        synced_at: `now() - interval '26 hours' - (n % 7) * interval '1 day'`,
        seen_at: `now() - interval '25 hours'`,
        auto_renew: 'false',
      },
    ],
  ];
  for (const [table, where, members] of copies) await copyRows(client, { table, where, members, last: names - 1 });
  await client.query('commit');
  await client.query('analyze domains.domains, domains.registry_domains');
}

interface Copies {
  readonly table: string;
  readonly where: string;
  /** SQL of columns that differ; `n` is the number of the copy, from 1 to `last`. */
  readonly members: Readonly<Record<string, string>>;
  readonly last: number;
}

async function copyRows(client: pg.Client, { table, where, members, last }: Copies): Promise<void> {
  const { rows } = await client.query<{ column_name: string }>(
    `select column_name from information_schema.columns
     where table_schema = 'domains' and table_name = $1 and is_generated = 'NEVER' and is_identity = 'NO'`,
    [table],
  );
  const columns = rows.map((row) => row.column_name);
  await client.query(`
    insert into domains.${table} (${columns.join(', ')})
    select ${columns.map((column) => members[column] ?? column).join(', ')}
    from domains.${table}, generate_series(1, ${last}) as n where ${where}`);
}

async function untilAllSeen(client: pg.Client, names: number): Promise<void> {
  await until(`${names} names were looked at`, async () => {
    const { rows } = await client.query<{ seen: number }>(
      `select count(*)::int as seen from domains.domains where state = 'active' and looked_at > now() - interval '23 hours'`,
    );
    return rows[0]?.seen === names;
  });
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(`not within ${PATIENCE_MS / 60_000} minutes: ${what}`);
    await wait(500);
  }
}
