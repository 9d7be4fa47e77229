import { subjectOf } from '../../access/caller.ts';
import type { Token } from './schema.ts';
import type { TokenRow } from './store.ts';

/** The public shape of a row. */
export function renderToken(projectId: string, row: TokenRow): Token {
  return {
    id: row.id,
    scope: row.scope,
    sub: subjectOf(projectId, row.smith_id),
    scopes: row.scopes,
    name: row.name,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
  };
}
