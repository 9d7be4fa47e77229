/**
 * Messages that could not be followed when they were read, as their registry answers its queue and not what is asked about their name. They
 * are acknowledged there, so that those behind them are read, and followed later: that one comes late, or after another, changes nothing.
 */

import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/log.ts';
import { type RegistryMessage, RegistryUnavailable } from '../registry/registry.ts';
import { systemDb } from '../workspace-scope.ts';
import { keepUnknownMessage } from './unknown-messages.ts';

interface DeferDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Before it is tried again: as long as it has waited, but at least and at most so long. */
const MIN_AGAIN_MS = 1_000;
const MAX_AGAIN_MS = 3_600_000;
/** Then a person has to look. */
const GIVEN_UP_AFTER_MS = 24 * 3_600_000;
const BATCH_SIZE = 50;

/** One that comes again is deferred once. */
export async function deferMessage(
  { clock, db, logger }: DeferDependencies,
  registry: string,
  message: RegistryMessage,
  { message: reason }: RegistryUnavailable,
): Promise<void> {
  const { applicationId = null, id, kind, name, queuedAt, text, transactionId = null } = message;
  const now = clock.now();
  logger.warn({ registry, name, kind, reason }, 'a message of the registry is followed later: it does not answer now');
  await systemDb(db)
    .insertInto('deferred_messages')
    .values({
      ...{ registry, message_id: id, queued_at: new Date(queuedAt), kind, name, text },
      ...{ application_id: applicationId, transaction_id: transactionId },
      received_at: now,
      look_at: new Date(now.getTime() + MIN_AGAIN_MS),
    })
    .onConflict((conflict) => conflict.columns(['registry', 'message_id', 'queued_at']).doNothing())
    .execute();
}

/**
 * Follows those that are due, until the first about which the registry still does not answer: that one waits longer, and after a day for the
 * operator. Whether any was followed.
 */
export async function followDeferred(
  deps: DeferDependencies,
  registry: string,
  follow: (message: RegistryMessage) => Promise<void>,
): Promise<boolean> {
  const { clock, db, logger } = deps;
  const due = await systemDb(db)
    .selectFrom('deferred_messages')
    .selectAll()
    .where('registry', '=', registry)
    .where('look_at', '<=', clock.now())
    .orderBy('look_at')
    .limit(BATCH_SIZE)
    .execute();
  let hasFollowed = false;
  for (const row of due) {
    const { kind, message_id: id, name, queued_at, received_at, text } = row;
    const message = {
      id,
      kind,
      name,
      text,
      queuedAt: queued_at.toISOString(),
      applicationId: row.application_id ?? undefined,
      transactionId: row.transaction_id ?? undefined,
    };
    const here = systemDb(db);
    const isThis = { registry, message_id: id, queued_at };
    try {
      await follow(message);
    } catch (error) {
      if (!(error instanceof RegistryUnavailable)) throw error;
      const now = clock.now();
      const ageMs = now.getTime() - received_at.getTime();
      if (ageMs < GIVEN_UP_AFTER_MS) {
        const againMs = Math.min(Math.max(ageMs, MIN_AGAIN_MS), MAX_AGAIN_MS);
        const later = { look_at: new Date(now.getTime() + againMs) };
        await here
          .updateTable('deferred_messages')
          .set(later)
          .where((expression) => expression.and(isThis))
          .execute();
        return hasFollowed;
      }
      logger.error(
        { registry, name, kind },
        'a message of the registry could not be followed for a day: it waits for the operator',
      );
      await keepUnknownMessage(deps, registry, message);
    }
    await here
      .deleteFrom('deferred_messages')
      .where((expression) => expression.and(isThis))
      .execute();
    hasFollowed = true;
  }
  return hasFollowed;
}
