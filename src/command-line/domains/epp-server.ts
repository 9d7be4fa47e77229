import { rm, writeFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { systemClock } from '../../kernel/clock/clock.ts';
import { migrate } from '../../kernel/db/migrate.ts';
import { createLogger } from '../../kernel/log/log.ts';
import { openStandardError } from '../../kernel/log/open-log-output.ts';
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
  readonly habits?: string;
  readonly pidFile?: string;
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
    .description('Serves the simulated registry by EPP over TLS; on the database of a running service, that one’s.')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port; 0 takes any free one', parsePort, 7700)
    .requiredOption('--key <file>', 'PEM file of the private key')
    .requiredOption('--cert <file>', 'PEM file of the certificate')
    .option('--client-ca <file>', 'PEM file of who signs clients’ certificates')
    .requiredOption('--registrar <id:password...>', 'who may log in; made when it is not there', collectRegistrar)
    .option('--habits <file>', 'what it sells, how it behaves and what goes wrong, YAML or JSON; SIGHUP reads it again')
    .option('--pid-file <file>', 'where to write the id of the process while it serves')
    .addHelpText(
      'after',
      `
What a registry may do otherwise than others is in its file of habits: examples/registries/ has four, docs/registrar.md
explains each member.

Example, with a certificate of your own making:
  openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout epp-key.pem -out epp-cert.pem
  IRONCRAFT_DATA_DIR=.epp ironcraft domains epp-server --key epp-key.pem --cert epp-cert.pem --registrar demo:secret-1`,
    )
    .action(async (options: Options) => {
      // Before a database is made for a file that is wrong.
      const habits = await readHabitsOf(options);
      await withStore(whileServing, (store) => serve(store, options, habits), { mayCreate: true });
    });
}

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new InvalidArgumentError('Use a port from 0 to 65535.');
}

function collectRegistrar(text: string, others: readonly Registrar[] = []): Registrar[] {
  const [, id, password] = /^([^:]{3,16}):(.{6,16})$/.exec(text) ?? [];
  if (id === undefined || password === undefined) {
    throw new InvalidArgumentError('Use id:password, the id of 3 to 16 characters and the password of 6 to 16.');
  }
  return [...others, { id, name: id, password }];
}

async function readHabitsOf({ habits: file, registrar: registrars }: Options) {
  if (file === undefined) return {};
  const { readHabits } = await import('./epp-server/read-habits.ts');
  return readHabits(
    file,
    registrars.map(({ id }) => id),
  );
}

async function serve(
  { config, db }: Store,
  options: Options,
  habits: Awaited<ReturnType<typeof readHabitsOf>>,
): Promise<void> {
  const { cert: certificateFile, clientCa, host, key: keyFile, pidFile, port, registrar: registrars } = options;
  const stop = listenForStop();
  const logger = createLogger(config, openStandardError());
  for (const source of migrationSources) await migrate(db, source);
  const { serveRegistry } = await import('./epp-server/serve-registry.ts');
  const tls = { keyFile, certificateFile, ...(clientCa === undefined ? {} : { clientCaFile: clientCa }) };
  const registry = await serveRegistry({ db, clock: systemClock, habits, tls, host, port, registrars, logger });
  if (options.habits !== undefined) {
    const { rereadOnHangUp } = await import('./epp-server/reread-habits.ts');
    rereadOnHangUp({
      read: () => readHabitsOf(options),
      change: (changed) => registry.change(changed),
      tell: (line) => process.stdout.write(`${line}\n`),
      complain: (line) => process.stderr.write(`${line}\n`),
    });
  }
  try {
    if (pidFile !== undefined) await writePid(pidFile);
    process.stdout.write(`The simulated registry is served at epps://${registry.host}:${registry.port}\n`);
    await stop.received;
  } finally {
    await registry.stop();
    if (pidFile !== undefined) await rm(pidFile, { force: true });
  }
}

async function writePid(file: string): Promise<void> {
  try {
    await writeFile(file, `${process.pid}\n`);
  } catch (error) {
    throw new CommandError(`The id of the process cannot be written to ${file}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
