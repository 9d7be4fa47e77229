/** Messages of the registry that nothing follows from here: a person has to read them. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';
import type { RegistryMessage } from '../registry/registry.ts';
import { type SystemDb, systemDb } from '../workspace-scope.ts';

const AUDIT_MESSAGES = 'domains-audit-messages';
const AUDIT_CRON = '52 * * * *';
const COUNTED = 10_000;

/** One that comes again from the same registry is kept once. */
export async function keepUnknownMessage(
  { db, clock }: { readonly db: Database; readonly clock: Clock },
  registry: string,
  { id, queuedAt, name, text }: RegistryMessage,
): Promise<void> {
  await systemDb(db)
    .insertInto('unknown_messages')
    .values({ registry, message_id: id, queued_at: new Date(queuedAt), received_at: clock.now(), name, text })
    .onConflict((conflict) => conflict.columns(['registry', 'message_id', 'queued_at']).doNothing())
    .execute();
}

/** In the order in which they came. */
export function listUnknownMessages(db: SystemDb, limit: number) {
  return db.selectFrom('unknown_messages').selectAll().orderBy('number').limit(limit).execute();
}

/** False: there is no such message. */
export async function dismissMessage(db: SystemDb, number: number): Promise<boolean> {
  const removed = await db.deleteFrom('unknown_messages').where('number', '=', number).executeTakeFirst();
  return removed.numDeletedRows > 0n;
}

/** Tells the operator each hour, on some replica, of messages that nobody has seen to. Call before `jobs.start`. */
export function defineMessageAudit(
  jobs: Jobs,
  { db, logger, metrics }: { readonly db: Database; readonly logger: Logger; readonly metrics: Metrics },
): void {
  const found = metrics.gauge(
    'domains_unknown_messages',
    'Messages of the registry that nothing follows from by itself, as the last look on this replica found; at most 10,000',
  );
  found.set(0);
  jobs.define(
    AUDIT_MESSAGES,
    async () => {
      const messages = await listUnknownMessages(systemDb(db), COUNTED);
      found.set(messages.length);
      if (messages.length > 0) {
        logger.error(
          { count: messages.length },
          'messages of the registry wait for you; see `ironcraft domains message list`',
        );
      }
    },
    { concurrency: 1 },
  );
  jobs.schedule(AUDIT_MESSAGES, AUDIT_CRON, {});
}
