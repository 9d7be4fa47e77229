import { createSecretKey, randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { MASTER_KEY_BYTES } from '../kernel/vault/decode-master-key.ts';
import { loadMasterKeys } from '../kernel/vault/load-master-keys.ts';
import { createVault } from '../kernel/vault/vault.ts';
import { EXIT_FAILURE, type Finish } from './command-error.ts';
import { hasMasterKey, type Store, withMigratedStore } from './open-store.ts';
import { rotateSigningKey } from './rotate-keys.ts';
import { listLost, passingColumns, sealedColumns } from './sealed-columns.ts';

const whileServing = 'A server that runs has its master key: nothing is lost. Stop it first if you mean to go on.';

export function addRecoverKeys(keys: Command, finish: Finish): void {
  keys
    .command('recover')
    .summary('go on without a master key that is lost for good')
    .description(
      'The last resort after the master key is gone and no backup has it. Gives up what cannot be opened: removes such stored ' +
        'secrets, which their owners then save again, and makes a new signing key, which ends every token. Agents, smiths and ' +
        'runs stay. Without --yes it only counts.',
    )
    .option('--yes', 'do it')
    .action(async ({ yes }: { yes?: true }) => {
      if (!(await withMigratedStore(whileServing, (store) => recover(store, yes === true)))) finish(EXIT_FAILURE);
    });
}

/** False when something is lost and was only counted. */
async function recover({ config, db }: Store, isMeant: boolean): Promise<boolean> {
  // Counting must not make a key file, which a restored one would have to replace.
  const isKeyed = hasMasterKey(config) || isMeant;
  const vault = createVault(isKeyed ? await loadMasterKeys(config) : [createSecretKey(randomBytes(MASTER_KEY_BYTES))]);
  return db.transaction(async (tx) => {
    const losses = [];
    for (const sealed of sealedColumns) losses.push({ sealed, rows: await listLost(tx, vault, sealed) });
    const count = losses.reduce((sum, { rows }) => sum + rows.length, 0);
    if (count === 0) {
      print('The master key opens every stored secret: nothing is lost.');
      return true;
    }
    for (const { sealed, rows } of losses) print(`${sealed.table}: ${rows.length} cannot be opened`);
    if (!isMeant) {
      print(
        'Nothing was changed. If no backup has the master key, give them up with: npm run ironcraft -- keys recover --yes',
      );
      return false;
    }
    for (const { sealed, rows } of losses) {
      if (!sealed.removeWhenLost) continue;
      const places = sealed.key.map((_, index) => `$${index + 1}`).join(', ');
      const text = `delete from ${sealed.table} where (${sealed.key.join(', ')}) = (${places})`;
      for (const values of rows) await tx.query({ text, values });
    }
    for (const { table, column } of passingColumns) {
      await tx.query({ text: `delete from ${table} where ${column} is not null`, values: [] });
    }
    await rotateSigningKey(tx, vault, { retireEarlier: true });
    print('They were given up. Every token has ended: mint new ones with: npm run ironcraft -- token mint');
    return true;
  });
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
