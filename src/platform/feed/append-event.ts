/**
 * The append-only feed. `appendEvent` runs in the transaction of the change that it records: the row and its event
 * commit together or not at all. An administrative event never carries the credential it concerns.
 */
import { json } from '../../kernel/db/values.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { executorOf } from '../store/executor-of.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import type { Actor, JsonObject } from '../tables.ts';
import type { EventType } from './event-types.ts';
import { FEED_CHANNEL } from './follow-feed.ts';

export interface FeedEvent {
  readonly type: EventType;
  readonly smithId?: string | null;
  readonly actor: Actor | null;
  readonly data: JsonObject;
}

/** Writes one event of the project's feed. Returns its id. */
export async function appendEvent(tx: TenantDb, event: FeedEvent): Promise<string> {
  const id = mintId('evt');
  await tx.raw({
    text: `insert into events (project_id, id, type, smith_id, actor, data) values ($1, $2, $3, $4, $5, $6)`,
    values: [id, event.type, event.smithId ?? null, event.actor === null ? null : json(event.actor), json(event.data)],
  });
  executorOf(tx).wake(FEED_CHANNEL);
  return id;
}
