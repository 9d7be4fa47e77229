/**
 * The job queues and schedules of both services, for a database that others are copied from. The first start of a service on a database
 * makes them one by one, ninety in all, which takes longer than all the rest of the start of a test's server.
 */
import { createSecretKey, randomBytes } from 'node:crypto';
import type { Database } from '../../src/kernel/db/database.ts';
import { createVault } from '../../src/kernel/vault/vault.ts';

/** Starts both services on a database that has their tables, stops them, and removes what else they have written. */
export async function installQueues(db: Database): Promise<void> {
  // Loaded here: both open test databases themselves.
  const [{ startDomains }, { startPlatform }] = await Promise.all([import('./domains.ts'), import('./platform.ts')]);
  const filledBefore = new Set(await listFilledTables(db));
  const sharing = { db, vault: createVault([createSecretKey(randomBytes(32))]) };
  for (const start of [startPlatform, startDomains]) {
    const server = await start({ sharing });
    await server.close();
  }
  const written = (await listFilledTables(db)).filter((name) => !filledBefore.has(name) && !name.startsWith('jobs.'));
  const deletions = ['jobs.job_common', ...written].map((name) => `delete from ${name}`);
  // Its own account at the simulated registry, beside that of the migration.
  deletions.push(`delete from domains.registry_registrars where id <> 'elsewhere'`);
  // What refers to them goes with them, and what refuses to be deleted has nothing to keep yet.
  const unchecked = ['set session_replication_role = replica', ...deletions, 'reset session_replication_role'];
  await db.query({ text: unchecked.join(';') });
}

async function listFilledTables(db: Database): Promise<string[]> {
  const { rows: tables } = await db.query<{ name: string }>({
    text: `select oid::regclass::text as name from pg_class
      where relkind in ('r', 'p') and relnamespace::regnamespace::text !~ '^(pg_|information_schema$)'`,
    values: [],
  });
  const looks = tables.map(({ name }) => `select '${name}' as name where exists (select from ${name})`);
  const { rows } = await db.query<{ name: string }>({ text: looks.join(' union all '), values: [] });
  return rows.map(({ name }) => name);
}
