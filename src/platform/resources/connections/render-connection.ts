import { systemClock } from '../../../kernel/clock/clock.ts';
import type { Connection } from './schema.ts';
import type { ConnectionRow } from './store.ts';

/** The public shape of a row. */
export function renderConnection(row: ConnectionRow): Connection {
  const { has_refresh_token, expires_at, created_at, status, ...shown } = row;
  // Nothing tells a token that nobody can refresh when its time is over.
  const isOver = expires_at !== null && expires_at.getTime() <= systemClock.now().getTime() && !has_refresh_token;
  return {
    ...shown,
    status: status === 'active' && isOver ? 'expired' : status,
    expires_at: expires_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
  };
}
