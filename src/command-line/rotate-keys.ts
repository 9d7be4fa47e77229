import type { Command } from 'commander';
import { sql } from 'kysely';
import type { Transaction } from '../kernel/db/database.ts';
import type { Vault } from '../kernel/vault/vault.ts';
import { addSigningKey } from '../platform/access/signing-keys.ts';
import { systemDb } from '../platform/store/tenant-db.ts';
import { openVault, type Store, withMigratedStore } from './open-store.ts';

const whileServing =
  'Stop the server, run this again, and start the server. A PostgreSQL server (IRONCRAFT_DATABASE_URL) needs no stop.';

interface Options {
  readonly retireEarlier?: true;
}

export function addRotateKeys(keys: Command): void {
  keys
    .command('rotate')
    .summary('sign new tokens with a new key')
    .description(
      'Makes a new signing key. Tokens that exist go on working: the earlier keys still verify them. Running servers sign ' +
        'with the new key within a minute.',
    )
    .option(
      '--retire-earlier',
      'after a leak: end every earlier key, and with it every token that exists, credentials.json included',
    )
    .action(async ({ retireEarlier }: Options) => {
      const { kid, retired } = await withMigratedStore(whileServing, (store) => rotate(store, retireEarlier === true));
      process.stdout.write(`signing key  ${kid}\n`);
      if (!retireEarlier) return;
      process.stdout.write(
        `retired      ${retired} earlier key(s): every token that they signed is refused from now on.\n` +
          'Wait a minute, or restart the servers, then mint new tokens with: npm run ironcraft -- token mint\n',
      );
    });
}

async function rotate({ config, db }: Store, retireEarlier: boolean): Promise<{ kid: string; retired: number }> {
  const vault = await openVault(config, db);
  return db.transaction((tx) => rotateSigningKey(tx, vault, { retireEarlier }));
}

/** Makes a new key the one that signs; with `retireEarlier`, every token signed before is refused from the commit on. */
export async function rotateSigningKey(
  tx: Transaction,
  vault: Vault,
  { retireEarlier }: { retireEarlier: boolean },
): Promise<{ kid: string; retired: number }> {
  const { kid } = await addSigningKey(tx, vault);
  if (!retireEarlier) return { kid, retired: 0 };
  const result = await systemDb(tx)
    .updateTable('signing_keys')
    .set({ retired_at: sql<Date>`now()` })
    .where('kid', '!=', kid)
    .where('retired_at', 'is', null)
    .executeTakeFirst();
  return { kid, retired: Number(result.numUpdatedRows) };
}
