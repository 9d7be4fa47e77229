import { createHash } from 'node:crypto';
import type { FollowedEvent } from '../follow-feed.ts';
import { renderEvent } from '../render-event.ts';

/** Before the first event of a project. */
export const CHAIN_START = Buffer.alloc(32);

/**
 * The hash of a link: SHA-256 over the 32 bytes of the hash before it and the bytes of the event as the feed and webhooks show
 * it. Whoever has kept those can check the chain without the database.
 */
export function hashLink(previous: Buffer, event: FollowedEvent): Buffer {
  return createHash('sha256')
    .update(previous)
    .update(JSON.stringify(renderEvent(event.project_id, event)))
    .digest();
}
