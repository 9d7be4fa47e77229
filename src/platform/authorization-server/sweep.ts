/** Removes what can be of no use to anybody any more. */
import type { Database } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';

const SWEEP = 'sweep-oauth';
/** Rows a statement: a batch must not hold locks for long. */
const BATCH_SIZE = 5_000;

const OUTDATED = [
  // A code that comes back within the day ends its token.
  {
    table: 'oauth_requests',
    where: `created_at < now() - interval '1 day' or (status = 'pending' and expires_at < now())`,
  },
  { table: 'oauth_refresh_tokens', where: 'expires_at < now()' },
  { table: 'oauth_assertions', where: 'expires_at < now()' },
  { table: 'oauth_clients', where: `used_at is null and created_at < now() - interval '1 day'` },
] as const;

/** Defines the job and its time. Call before `jobs.start`. */
export function defineOAuthSweep(jobs: Jobs, { db }: { readonly db: Database }): void {
  jobs.define(SWEEP, ({ signal }) => sweepOAuth(db, signal), { concurrency: 1 });
  jobs.schedule(SWEEP, '17 * * * *', {});
}

export async function sweepOAuth(db: Database, signal: AbortSignal): Promise<void> {
  for (const { table, where } of OUTDATED) {
    for (let removed = BATCH_SIZE; removed === BATCH_SIZE && !signal.aborted; ) {
      const { rowCount } = await db.query({
        text: `delete from ${table} where ctid in (select ctid from ${table} where ${where} limit ${BATCH_SIZE})`,
        values: [],
      });
      removed = rowCount;
    }
  }
}
