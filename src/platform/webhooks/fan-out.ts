/**
 * From the feed to deliveries: follows the feed by its cursor and writes a delivery for each webhook that an event is for.
 * Deliveries and cursor commit together, so each event is fanned out once, whichever replica does it and whenever it dies.
 */
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { selectsEventType } from '../feed/event-types.ts';
import type { FollowedEvent } from '../feed/follow-feed.ts';
import { followStored } from '../feed/stored-follower.ts';

const EVENTS_A_BATCH = 500;

export interface FanOutDependencies {
  readonly db: Database;
  readonly now: () => Date;
  readonly logger: { warn(fields: object, message: string): void };
}

export interface FannedOut {
  /** New deliveries; zero too where another replica is at it. */
  readonly written: number;
  /** Whether more may be there soon: see `followStored`. */
  readonly expectsMore: boolean;
}

/** Fans out what is final. */
export async function fanOut({ db, now, logger }: FanOutDependencies, signal: AbortSignal): Promise<FannedOut> {
  let written = 0;
  const take = async (tx: Transaction, events: readonly FollowedEvent[]): Promise<boolean> => {
    const count = await writeDeliveries(tx, events, now());
    written += count;
    return count > 0;
  };
  // What happened before the restore has been delivered, as far as anybody knows; a replay delivers it again.
  const follower = { name: 'webhooks', eventsABatch: EVENTS_A_BATCH, afterRestore: 'end', take, logger } as const;
  const expectsMore = await followStored(db, follower, signal);
  return { written, expectsMore };
}

interface Subscription {
  readonly project_id: string;
  readonly id: string;
  readonly events: readonly string[];
  readonly created_at: Date;
}

async function writeDeliveries(tx: Transaction, events: readonly FollowedEvent[], now: Date): Promise<number> {
  const { rows: subscriptions } = await tx.query<Subscription>({
    text: 'select project_id, id, events, created_at from webhooks where project_id = any($1::text[])',
    values: [[...new Set(events.map(({ project_id }) => project_id))]],
  });
  if (subscriptions.length === 0) return 0;
  const byProject = Map.groupBy(subscriptions, ({ project_id }) => project_id);
  const wanted = events.flatMap((event) =>
    (byProject.get(event.project_id) ?? [])
      .filter((subscription) => isFor(event, subscription))
      .map((subscription) => ({
        project_id: event.project_id,
        id: mintId('whd'),
        webhook_id: subscription.id,
        event_id: event.id,
        event_type: event.type,
      })),
  );
  if (wanted.length === 0) return 0;
  // One that was there before is of a test or a replay, which did not wait for this.
  const { rowCount } = await tx.query({
    text: `
      insert into webhook_deliveries
        (project_id, id, webhook_id, event_id, event_type, next_attempt_at, created_at, updated_at)
      select w.project_id, w.id, w.webhook_id, w.event_id, w.event_type, $2, $2, $2
      from jsonb_to_recordset($1) as w (project_id text, id text, webhook_id text, event_id text, event_type text)
      on conflict (project_id, webhook_id, event_id) do nothing`,
    values: [JSON.stringify(wanted), now],
  });
  return rowCount;
}

/**
 * Whether a webhook gets an event: one that did not happen before it was registered, of a type that it selects. Times are
 * read to the millisecond, so what happened in the same one counts, save the registration itself.
 */
function isFor(event: FollowedEvent, { id, events, created_at }: Subscription): boolean {
  if (event.created_at < created_at) return false;
  if (event.type === 'webhook.created' && event.data.webhook_id === id) return false;
  return events.length === 0 || events.some((selector) => selectsEventType(selector, event.type));
}
