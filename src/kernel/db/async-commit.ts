import type { Database } from './database.ts';

/**
 * A column of a statement that writes: its commit does not wait for the disk. For what may be lost when the database itself
 * is killed (a lease, a reservation), or is done again then; a commit that comes later and waits makes it durable too.
 */
export const ASYNC_COMMIT = `set_config('synchronous_commit', 'off', true) as async_commit`;

/**
 * Resolves once everything that was committed before is on the disk, also what did not wait for it: a commit that waits takes
 * along all that the log holds before it. The embedded store always waits.
 */
export async function waitForDisk(db: Database): Promise<void> {
  if (db.kind === 'embedded') return;
  await db.query({ text: `select pg_logical_emit_message(true, 'ironcraft', '')`, values: [] });
}
