/** What has ended by itself, as queries tell it. What is left of it is swept later, and seen by nobody until then. */
import { sql } from 'kysely';

/** Of the row `files`. */
export const isLiveFile = sql<boolean>`(files.expires_at is null or files.expires_at > now())`;

/** When the row `vector_stores` ends unless it is used before; null for one that stays. */
export const storeExpiresAt = sql<Date | null>`(coalesce(vector_stores.last_active_at, vector_stores.created_at)
  + vector_stores.expires_after_seconds * interval '1 second')`;

/** Whether the row `vector_stores` has ended: by the clock, or because its content is gone already. */
export const storeIsExpired = sql<boolean>`(vector_stores.expired_at is not null or coalesce(${storeExpiresAt} <= now(), false))`;

/** `storeIsExpired` as text, for a row of vector_stores under the alias. */
export function isExpiredStore(alias: string): string {
  return `(${alias}.expired_at is not null or coalesce(coalesce(${alias}.last_active_at, ${alias}.created_at)
    + ${alias}.expires_after_seconds * interval '1 second' <= now(), false))`;
}
