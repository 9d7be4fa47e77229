/** Messages of the registry that nothing follows from here: a person has to read them. */
import { sql } from 'kysely';
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import { storedGauge } from '../../kernel/jobs/stored-gauge.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';
import type { RegistryMessage } from '../registry/registry.ts';
import { type SystemDb, systemDb } from '../workspace-scope.ts';
import { listUnreadableQueues, UNREADABLE } from './unreadable-queues.ts';

const AUDIT_MESSAGES = 'domains-audit-messages';
const AUDIT_CRON = '52 * * * *';
const COUNTED = 10_000;

/** One that comes again from the same registry is kept once, also where the registry has queued it under several ids. */
export async function keepUnknownMessage(
  { db, clock }: { readonly db: Database; readonly clock: Clock },
  registry: string,
  { id, queuedAt, name, text }: RegistryMessage,
): Promise<void> {
  const said = { registry, queued_at: new Date(queuedAt), name, text };
  const kept = await systemDb(db)
    .insertInto('unknown_messages')
    .values({ ...said, message_id: id, received_at: clock.now() })
    .onConflict((conflict) => conflict.doNothing())
    .returning('number')
    .executeTakeFirst();
  if (kept !== undefined) return;
  await systemDb(db)
    .updateTable('unknown_messages')
    .set({ further_ids: sql`array_append(further_ids, ${id}::text)` })
    .where((expression) => expression.and(said))
    .where('message_id', '<>', id)
    .where(sql<boolean>`${id}::text <> all(further_ids)`)
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
  const found = storedGauge(
    { db, metrics },
    'domains_unknown_messages',
    'Messages of the registry that nothing follows from by itself, as the last look found; at most 10,000',
  );
  const queues = storedGauge(
    { db, metrics },
    'domains_unreadable_queues',
    'Registries whose oldest message cannot be read, or not be removed, as the last look found: those behind it wait',
  );
  jobs.define(
    AUDIT_MESSAGES,
    async () => {
      const messages = await listUnknownMessages(systemDb(db), COUNTED);
      await found.set(messages.length);
      if (messages.length > 0) {
        logger.error(
          { count: messages.length },
          'messages of the registry wait for you; see `ironcraft domains message list`',
        );
      }
      const unreadable = await listUnreadableQueues(systemDb(db));
      await queues.set(unreadable.length);
      for (const { problem: reason, registry, since } of unreadable)
        logger.error({ registry, reason, since }, UNREADABLE);
    },
    { concurrency: 1 },
  );
  jobs.schedule(AUDIT_MESSAGES, AUDIT_CRON, {});
}
