/**
 * Orders that do not end: a registry that fails at every command, or never finishes one that it took. They keep their hold and are looked at
 * again, each time later; after a day without an end (weeks, for a transfer) a person has to look, too.
 */
import { sql } from 'kysely';
import { backoffMs } from '../../kernel/retry/backoff.ts';
import type { SystemDb } from '../workspace-scope.ts';
import type { OrderRow } from './order.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Before the next look at an order whose command got no answer: soon at first, then by how old the order is. */
const UNKNOWN_LOOK = { firstMs: 500, longestMs: 5 * MINUTE_MS } as const;
/** Before an order whose turn did not come gets in line again; it keeps its place there. */
const TURN_LOOK = { firstMs: 1_000, longestMs: 15_000 } as const;
/** A transfer is five days with the losing registrar, and a trade waits for two holders. */
const ATTENTION_AFTER_MS = {
  registration: DAY_MS,
  renewal: DAY_MS,
  restoration: DAY_MS,
  transfer: 21 * DAY_MS,
  trade: 21 * DAY_MS,
} as const;

export function nextUnknownLookMs(order: OrderRow, now: Date): number {
  const age = now.getTime() - order.created_at.getTime();
  const longestMs = age < HOUR_MS ? UNKNOWN_LOOK.longestMs : age < DAY_MS ? 30 * MINUTE_MS : 6 * HOUR_MS;
  return Math.min(Math.max(backoffMs(order.submissions + 1, UNKNOWN_LOOK), age / 2), longestMs);
}

export function nextTurnLookMs(order: OrderRow, now: Date): number {
  const age = now.getTime() - order.created_at.getTime();
  return Math.min(Math.max(TURN_LOOK.firstMs, age / 8), TURN_LOOK.longestMs);
}

/** Longer than commands without an answer: the registry has said why, and a person has to pay it first. */
const CREDIT_LOOK = { firstMs: 30_000, longestMs: 30 * MINUTE_MS } as const;
export const NO_CREDIT = 'Our account at the registry has no credit for it (2104).';

export function nextCreditLookMs(order: OrderRow, now: Date): number {
  const age = now.getTime() - order.created_at.getTime();
  return Math.min(Math.max(CREDIT_LOOK.firstMs, age / 4), CREDIT_LOOK.longestMs);
}

/** Columns to set on an order that has not ended at this look; empty while it is young, or is known to need attention. */
export function attentionOf(order: OrderRow, reason: string, now: Date) {
  const { attention_since: since, created_at: createdAt, kind } = order;
  // One whose command has had no answer at all is no transfer that waits for the other registrar.
  const limitMs = order.state === 'pending' ? ATTENTION_AFTER_MS[kind] : DAY_MS;
  if (since !== null || now.getTime() - createdAt.getTime() < limitMs) return {};
  return { attention_since: now, attention_reason: reason };
}

/** Orders of every workspace that need attention, the oldest need first. */
export function listAttention(db: SystemDb, limit: number) {
  return db
    .selectFrom('orders')
    .selectAll()
    .where(sql<boolean>`attention_since is not null and state not in ('completed', 'failed')`)
    .orderBy('attention_since')
    .limit(limit)
    .execute();
}
