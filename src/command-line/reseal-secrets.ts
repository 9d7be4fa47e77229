import type { Command } from 'commander';
import { CommandError } from './command-error.ts';
import { openVault, withMigratedStore } from './open-store.ts';
import { resealColumn, sealedColumns } from './sealed-columns.ts';

const whileServing =
  'Stop the server, run this again, and start the server. A PostgreSQL server (IRONCRAFT_DATABASE_URL) needs no stop.';

export function addResealSecrets(keys: Command): void {
  keys
    .command('reseal')
    .summary('seal stored secrets under a new master key')
    .description(
      'The last step of changing the master key: whatever an earlier master key seals is sealed under the first one. Before it, ' +
        'give the new key to every server, first in the list, with the earlier keys after it. A day after it, the earlier keys ' +
        'can be removed.',
    )
    .action(async () => {
      const unreadable = await withMigratedStore(whileServing, async ({ config, db }) => {
        const vault = await openVault(config, db);
        let left = 0;
        for (const column of sealedColumns) {
          const count = await resealColumn(db, vault, column);
          process.stdout.write(`${column.table}.${column.column}: ${count.sealed} sealed again\n`);
          left += count.unreadable;
        }
        return left;
      });
      if (unreadable === 0) return;
      throw new CommandError(
        `${unreadable} secret(s) are sealed under a master key that this process was not given. Add that key to the list and run this again.`,
      );
    });
}
