import type { Command } from 'commander';
import { loadConfig } from '../kernel/config/config.ts';
import { migrate, readMigrations } from '../kernel/db/migrate.ts';
import { listPending, migrationSources } from './migrations.ts';
import { storeExists, withStore } from './open-store.ts';

interface Options {
  readonly status?: true;
  readonly dryRun?: true;
}

const whileServing = 'Stop the server first; it applies what is missing itself when it starts.';

export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .summary('bring the database up to date')
    .description(
      'Applies the migrations that the database lacks. `serve` does the same when it starts; this verb is for deployments that ' +
        'migrate as a step of their own. Any number of processes may run it at once.',
    )
    .option('--status', 'list every migration and whether it is applied; change nothing')
    .option('--dry-run', 'list the migrations that would be applied; change nothing')
    .action(async (options: Options) => {
      if (options.status || options.dryRun) await showMigrations(options);
      else await applyMigrations();
    });
}

async function applyMigrations(): Promise<void> {
  await withStore(
    whileServing,
    async ({ db }) => {
      let count = 0;
      for (const source of migrationSources) {
        const { applied } = await migrate(db, source);
        count += applied.length;
        for (const name of applied) print(`applied  ${source.service}/${name}`);
      }
      print(count === 0 ? 'The database is up to date.' : `The database is up to date: ${count} migration(s) applied.`);
    },
    { mayCreate: true },
  );
}

async function showMigrations({ status }: Options): Promise<void> {
  const known = await listKnown();
  const pending = new Set(await pendingOf(known));
  for (const name of known) {
    if (pending.has(name)) print(status ? `pending  ${name}` : `would apply  ${name}`);
    else if (status) print(`applied  ${name}`);
  }
  print(
    pending.size === 0 ? 'The database is up to date.' : `${pending.size} migration(s) pending; nothing was changed.`,
  );
}

async function pendingOf(known: readonly string[]): Promise<readonly string[]> {
  // Looking must not make a database.
  return storeExists(loadConfig()) ? withStore(whileServing, ({ db }) => listPending(db)) : known;
}

async function listKnown(): Promise<string[]> {
  const lists = migrationSources.map(async ({ service, folder }) =>
    (await readMigrations(folder)).map(({ name }) => `${service}/${name}`),
  );
  return (await Promise.all(lists)).flat();
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
