/** The schemas that this program brings along, in the order in which they are applied. */
import { join } from 'node:path';
import type { Database } from '../kernel/db/database.ts';
import { engineVersion } from '../kernel/db/embedded-folder.ts';
import { type MigrationSource, pendingMigrations } from '../kernel/db/migrate.ts';
import { sourceRoot } from './source-commit.ts';

export const migrationSources: readonly MigrationSource[] = [
  { service: 'platform', folder: join(sourceRoot, 'migrations', 'platform') },
  { service: 'domains', folder: join(sourceRoot, 'migrations', 'domains') },
];

/**
 * What a new embedded store starts from: a store with these migrations, or the first of them, and the job queue's schema,
 * see docs/decisions/0011-store-template.md.
 */
export const storeTemplate = join(sourceRoot, 'migrations', `store-template-pglite-${engineVersion()}.tar.br`);

/** Every file that the database lacks, as `service/name`. */
export async function listPending(db: Database): Promise<string[]> {
  const pending: string[] = [];
  for (const source of migrationSources) {
    for (const name of await pendingMigrations(db, source)) pending.push(`${source.service}/${name}`);
  }
  return pending;
}
