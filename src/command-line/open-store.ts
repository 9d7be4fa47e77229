/** The database and the vault as the verbs open them: nothing is made by looking, and every refusal says how to fix it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, loadConfig } from '../kernel/config/config.ts';
import type { Database } from '../kernel/db/database.ts';
import { FolderInUseError } from '../kernel/db/folder-lock.ts';
import { openDatabase } from '../kernel/db/open-database.ts';
import { loadMasterKeys, MASTER_KEY_FILE } from '../kernel/vault/load-master-keys.ts';
import { createVault, type Vault } from '../kernel/vault/vault.ts';
import { createSigningKeys } from '../platform/access/signing-keys.ts';
import { systemDb } from '../platform/store/tenant-db.ts';
import { CommandError } from './command-error.ts';
import { listPending } from './migrations.ts';

export interface Store {
  readonly config: Config;
  readonly db: Database;
}

/**
 * Opens the database that the configuration names for one verb and closes it afterwards. `whileServing` says what to do
 * instead while a server holds the embedded database. Throws CommandError when nothing has been set up yet, unless it may be
 * created.
 */
export async function withStore<Result>(
  whileServing: string,
  work: (store: Store) => Promise<Result>,
  options: { readonly mayCreate?: boolean } = {},
): Promise<Result> {
  const config = loadConfig();
  if (options.mayCreate !== true && !storeExists(config)) {
    throw new CommandError(
      `There is no database in ${config.dataDir} yet. Start the server once with npm start, or set IRONCRAFT_DATA_DIR or IRONCRAFT_DATABASE_URL to where it is.`,
    );
  }
  const db = await openFor(config, whileServing);
  try {
    return await work({ config, db });
  } finally {
    await db.close();
  }
}

/** As `withStore`; refuses a database whose schema is not the one of this program. */
export async function withMigratedStore<Result>(
  whileServing: string,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  return withStore(whileServing, async (store) => {
    const pending = await listPending(store.db);
    if (pending.length === 0) return work(store);
    throw new CommandError(
      `The database lacks ${pending.length} migration(s) of this program. Apply them with: npm run ironcraft -- migrate`,
    );
  });
}

/** Whether opening would find a database; opening the embedded one makes it where there is none. */
export function storeExists(config: Pick<Config, 'databaseUrl' | 'dataDir'>): boolean {
  return config.databaseUrl !== undefined || existsSync(join(config.dataDir, 'database'));
}

async function openFor(config: Config, whileServing: string): Promise<Database> {
  try {
    return await openDatabase({ url: config.databaseUrl, dataDir: config.dataDir, poolSize: 2 });
  } catch (error) {
    if (!(error instanceof FolderInUseError)) throw error;
    throw new CommandError(
      `A running server holds the embedded database, which serves one process at a time. ${whileServing}\n(${error.message})`,
      { cause: error },
    );
  }
}

/**
 * The vault of this configuration. Where the database holds a sealed key, it must open: a master key that was made anew
 * beside an older database would lock out everything that is stored, silently. Throws CommandError then.
 */
export async function openVault(config: Config, db: Database): Promise<Vault> {
  if (!hasMasterKey(config) && (await hasSigningKey(db))) {
    throw new CommandError(
      `The database holds sealed secrets and there is no master key: neither IRONCRAFT_MASTER_KEY nor ${masterKeyPath(config)}. ` +
        'Give this process the master key that the database was set up with.',
    );
  }
  const vault = createVault(await loadMasterKeys(config));
  await proveVault(db, vault);
  return vault;
}

/** Throws CommandError when the key that signs tokens cannot be opened. */
export async function proveVault(db: Database, vault: Vault): Promise<void> {
  if (!(await hasSigningKey(db))) return;
  try {
    await db.transaction((tx) => createSigningKeys(db, vault).signer(tx));
  } catch (error) {
    throw new CommandError(
      'The master key of this process does not open the signing key in the database. Set IRONCRAFT_MASTER_KEY to the key that the ' +
        'database was set up with, the same on every replica, or restore master.key from a backup.',
      { cause: error },
    );
  }
}

export function hasMasterKey(config: Pick<Config, 'masterKeys' | 'dataDir'>): boolean {
  return config.masterKeys.length > 0 || existsSync(masterKeyPath(config));
}

export function masterKeyPath(config: Pick<Config, 'dataDir'>): string {
  return join(config.dataDir, MASTER_KEY_FILE);
}

/** Whether a key that signs is in the database; needs the migrated tables. */
export async function hasSigningKey(db: Database): Promise<boolean> {
  const key = await systemDb(db)
    .selectFrom('signing_keys')
    .select('kid')
    .where('retired_at', 'is', null)
    .limit(1)
    .executeTakeFirst();
  return key !== undefined;
}
