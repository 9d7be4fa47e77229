import { randomBytes } from 'node:crypto';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { pino } from 'pino';
import type { CreditOf, RegistryCore } from '../../domains/registry/simulated/index.ts';
import { systemClock } from '../../kernel/clock/clock.ts';
import { migrate } from '../../kernel/db/migrate.ts';
import { createLogger } from '../../kernel/log/log.ts';
import { createPeriodicWorker } from '../../kernel/periodic/periodic-worker.ts';
import { CommandError } from '../command-error.ts';
import { migrationSources } from '../migrations.ts';
import { type Store, withStore } from '../open-store.ts';
import { listenForStop } from '../stop-signals.ts';

interface Options {
  readonly host: string;
  readonly port: number;
  readonly key: string;
  readonly cert: string;
  readonly clientCa?: string;
  readonly registrar: readonly Registrar[];
  readonly wrongAnswers?: number;
  readonly silent?: number;
  readonly cut?: number;
  readonly slowMs?: number;
  readonly newestMessagesFirst?: true;
  readonly messagesTwice?: true;
  readonly announce?: string;
  readonly seed: number;
  readonly commandsPerMinute?: number;
  readonly sessionCommands?: number;
  readonly credit?: ReadonlyMap<string, number>;
  readonly autoRenewGraceDays?: number;
  readonly tlds?: readonly string[];
  readonly premium?: ReadonlyMap<string, number>;
  readonly reserved?: ReadonlySet<string>;
  readonly registered?: ReadonlySet<string>;
  /** Default: objects. */
  readonly contacts?: 'objects' | 'no_disclose' | 'none';
  /** Default: objects. */
  readonly hosts?: 'objects' | 'attributes';
  /** Default: ds. */
  readonly dnssec?: 'ds' | 'keys' | 'none';
}

interface Registrar {
  readonly id: string;
  readonly name: string;
  readonly password: string;
}

const whileServing =
  'Give the EPP server a database of its own with IRONCRAFT_DATA_DIR, or use PostgreSQL, which several processes share.';

export function addEppServer(domains: Command): void {
  domains
    .command('epp-server')
    .summary('serve the simulated registry by EPP')
    .description(
      'Serves the simulated registry by EPP over TLS; on the database of a running service, that one’s. ' +
        'Shares, 0 to 1, are of commands about names.',
    )
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port; 0 takes any free one', parsePort, 7700)
    .requiredOption('--key <file>', 'PEM file of the private key')
    .requiredOption('--cert <file>', 'PEM file of the certificate')
    .option('--client-ca <file>', 'PEM file of who signs clients’ certificates')
    .requiredOption('--registrar <id:password...>', 'who may log in; made when it is not there', collectRegistrar)
    .option('--wrong-answers <share>', 'refused with 2303 or 2201 for no reason', parseShare)
    .option('--silent <share>', 'neither carried out nor answered', parseShare)
    .option('--cut <share>', 'carried out, and cut off before the answer', parseShare)
    .option('--slow-ms <ms>', 'how much later commands are answered', parseMs)
    .option('--newest-messages-first', 'hand out the newest message of a queue first')
    .option('--messages-twice', 'hand out messages again once acknowledged')
    .option('--announce <text>', 'a message for all that is about no name')
    .option('--commands-per-minute <number>', 'of a registrar; those beyond are refused: 2502', parseCount)
    .option('--session-commands <number>', 'of a session; the next one ends it with 2500', parseCount)
    .option('--credit <id=euros...>', 'all that a registrar may spend; then 2104', collectCredit)
    .option('--seed <number>', 'of what goes wrong', parseSeed, 1)
    .option('--auto-renew-grace-days <days>', 'renew names at their end; undone so long', parseGraceDays)
    .option('--tlds <list>', 'set apart by commas; default: all with a price', parseTldList)
    .option('--premium <name=euros...>', 'names with a price of their own', collectPremium)
    .option('--reserved <name...>', 'names that nobody gets', collectNames)
    .option('--registered <name...>', 'names that the first registrar begins with', collectNames)
    .addOption(model('--contacts <model>', 'of names', ['objects', 'no_disclose', 'none']))
    .addOption(model('--hosts <model>', 'nameservers', ['objects', 'attributes']))
    .addOption(model('--dnssec <model>', 'what is taken', ['ds', 'keys', 'none']))
    .addHelpText(
      'after',
      '\nExample, with a certificate of your own making:\n' +
        '  openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout epp-key.pem -out epp-cert.pem\n' +
        '  IRONCRAFT_DATA_DIR=.epp ironcraft domains epp-server --key epp-key.pem --cert epp-cert.pem --registrar demo:secret-1',
    )
    .action((options: Options) => withStore(whileServing, (store) => serve(store, options), { mayCreate: true }));
}

const DNSSEC_DATA = { ds: 'dsData', keys: 'keyData', none: 'none' } as const;

/** Commander's own list of choices takes another line of the help, and so does its default. */
function model(flags: string, what: string, choices: readonly string[]): Option {
  const parse = (text: string): string => {
    if (choices.includes(text)) return text;
    throw new InvalidArgumentError(`Use one of ${choices.join(', ')}.`);
  };
  return new Option(flags, `${what}: ${choices.join(', ')}`).argParser(parse);
}

function parseTldList(text: string): string[] {
  return text.toLowerCase().split(',');
}

function collectPremium(text: string, others: ReadonlyMap<string, number> = new Map()): Map<string, number> {
  const [, name, euros] = /^([^=\s]+)=(\d{1,7}(?:\.\d{1,2})?)$/.exec(text.toLowerCase()) ?? [];
  if (name === undefined || euros === undefined)
    throw new InvalidArgumentError('Use name=euros, such as gold.com=500.');
  return new Map([...others, [name, Math.round(Number(euros) * 100)]]);
}

function collectCredit(text: string, others: ReadonlyMap<string, number> = new Map()): Map<string, number> {
  const [, id, euros] = /^([^=\s]{3,16})=(\d{1,9}(?:\.\d{1,2})?)$/.exec(text) ?? [];
  if (id === undefined || euros === undefined) throw new InvalidArgumentError('Use id=euros, such as demo-alpha=250.');
  return new Map([...others, [id, Math.round(Number(euros) * 100)]]);
}

function parseCount(text: string): number {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (count >= 1) return count;
  throw new InvalidArgumentError('Use a whole number from 1 to 999999.');
}

function collectNames(text: string, others: ReadonlySet<string> = new Set()): Set<string> {
  return new Set([...others, text.toLowerCase()]);
}

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new InvalidArgumentError('Use a port from 0 to 65535.');
}

function parseShare(text: string): number {
  const share = /^(0(\.\d+)?|1)$/.test(text) ? Number(text) : Number.NaN;
  if (share <= 1) return share;
  throw new InvalidArgumentError('Use a share from 0 to 1, such as 0.01.');
}

function parseMs(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Use a number of milliseconds, at most 999999.');
}

function parseGraceDays(text: string): number {
  const days = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (days >= 1) return days;
  throw new InvalidArgumentError('Use a number of days from 1 to 99.');
}

function parseSeed(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Use a whole number of at most nine digits.');
}

function collectRegistrar(text: string, others: readonly Registrar[] = []): Registrar[] {
  const [, id, password] = /^([^:]{3,16}):(.{6,16})$/.exec(text) ?? [];
  if (id === undefined || password === undefined) {
    throw new InvalidArgumentError('Use id:password, the id of 3 to 16 characters and the password of 6 to 16.');
  }
  return [...others, { id, name: id, password }];
}

async function serve({ config, db }: Store, options: Options): Promise<void> {
  const stop = listenForStop();
  const logger = createLogger(config, pino.destination({ dest: 2, sync: true }));
  for (const source of migrationSources) await migrate(db, source);
  const { deliverAtRandom, limitCommands, startEppServer } = await import('../../domains/registry/epp/index.ts');
  const { answerWrongly, createRegistryCore, wrongAnswersAtRandom } = await import(
    '../../domains/registry/simulated/index.ts'
  );
  const { simulatedFees } = await import('../../domains/boot/open-dependencies.ts');
  const { standardPriceBook } = await import('../../domains/prices/price-book.ts');
  const {
    autoRenewGraceDays,
    contacts = 'objects',
    dnssec = 'ds',
    hosts = 'objects',
    premium = new Map(),
    reserved = new Set(),
    tlds,
  } = options;
  const core = createRegistryCore({
    db,
    clock: systemClock,
    prices: simulatedFees(standardPriceBook(), systemClock, tlds),
    autoRenewGraceDays,
    special: { premium, reserved },
    credit: creditOf(options.credit),
    messages: { newestFirst: options.newestMessagesFirst === true, twice: options.messagesTwice === true },
  });
  const [first] = options.registrar;
  const habits = {
    contacts,
    nameservers: hosts === 'objects' ? 'hostObj' : 'hostAttr',
    dnssec: DNSSEC_DATA[dnssec],
    balance: options.credit !== undefined,
  } as const;
  const {
    host,
    port,
    key: keyFile,
    cert: certificateFile,
    clientCa,
    registrar: registrars,
    wrongAnswers = 0,
    silent: silentShare = 0,
    cut: cutShare = 0,
    slowMs = 0,
    seed,
  } = options;
  const served = wrongAnswers === 0 ? core : answerWrongly(core, wrongAnswersAtRandom(wrongAnswers, seed));
  const tls = { keyFile, certificateFile, ...(clientCa === undefined ? {} : { clientCaFile: clientCa }) };
  const commandLimits = { perMinute: options.commandsPerMinute, perSession: options.sessionCommands };
  const server = await startEppServer({
    core: served,
    tls,
    host,
    port,
    registrars,
    logger,
    habits,
    deliver: limitCommands(commandLimits, systemClock, deliverAtRandom({ silentShare, cutShare, slowMs, seed })),
  });
  if (first !== undefined) await registerAll(core, first.id, options.registered ?? new Set());
  if (options.announce !== undefined) {
    for (const { id } of registrars) await core.announce(id, options.announce);
  }
  // What is due by the clock is done although nobody asks.
  const dueWork = createPeriodicWorker({
    name: 'simulated registry',
    intervalMs: DUE_INTERVAL_MS,
    pass: async () => void (await core.runDue()),
    logger,
  });
  dueWork.start();
  process.stdout.write(`The simulated registry is served at epps://${server.host}:${server.port}\n`);
  await stop.received;
  await Promise.all([dueWork.stop(), server.stop()]);
}

function creditOf(credits: ReadonlyMap<string, number> = new Map()): CreditOf {
  return (registrarId) => {
    const cents = credits.get(registrarId);
    // Registries warn of the last fifth.
    return cents === undefined ? undefined : { cents, warnBelowCents: Math.round(cents / 5) };
  };
}

/** Those that are there already stay as they are. */
async function registerAll(core: RegistryCore, registrarId: string, names: ReadonlySet<string>): Promise<void> {
  if (names.size === 0) return;
  const session = { registrarId };
  const registrant = `FIRST-${registrarId}`.slice(0, 16);
  const postalInfo = [
    { type: 'int', name: 'First Owner', street: ['1 Mill Lane'], city: 'London', country: 'GB' },
  ] as const;
  const authInfo = randomBytes(12).toString('hex');
  await core.createContact(session, {
    id: registrant,
    postalInfo,
    email: 'owner@example.net',
    authInfo,
    disclose: false,
  });
  for (const name of names) {
    const reply = await core.createDomain(session, { name, years: 1, registrant, authInfo });
    if (!reply.ok && reply.code !== OBJECT_EXISTS)
      throw new CommandError(`${name} was not registered: ${reply.reason}`);
  }
}

const OBJECT_EXISTS = 2302;
const DUE_INTERVAL_MS = 1_000;
