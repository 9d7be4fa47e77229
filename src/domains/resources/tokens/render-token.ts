import type { Selectable } from 'kysely';
import type { Caller } from '../../access/caller.ts';
import type { WorkspaceTables } from '../../tables.ts';
import type { Token } from './schema.ts';

export function renderToken(row: Selectable<WorkspaceTables['tokens']>, { tokenId }: Caller): Token {
  return {
    id: row.id,
    scope: row.scope,
    name: row.name,
    created_at: row.created_at.toISOString(),
    revoked_at: row.revoked_at?.toISOString() ?? null,
    is_current: row.id === tokenId,
  };
}
