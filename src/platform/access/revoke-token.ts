/** Revokes a token. Every replica reads the row on every request, so that it takes effect with the commit. */
import { sql } from 'kysely';
import { appendEvent } from '../feed/append-event.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import type { Actor } from '../tables.ts';
import { subjectOf } from './caller.ts';

export interface RevocationRequest {
  readonly tokenId: string;
  readonly actor: Actor | null;
}

/**
 * Revokes one token of the project and writes `token.revoked`. False when the project never had such a token. A token
 * that was revoked before stays so, without a second event.
 */
export async function revokeToken(db: TenantDb, { tokenId, actor }: RevocationRequest): Promise<boolean> {
  const token = await db.selectFrom('tokens').select(['smith_id', 'name']).where('id', '=', tokenId).executeTakeFirst();
  if (token === undefined) return false;
  const result = await db
    .updateTable('tokens')
    .set({ revoked_at: sql<Date>`now()` })
    .where('id', '=', tokenId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  if (result.numUpdatedRows === 0n) return true;
  await appendEvent(db, {
    type: 'token.revoked',
    smithId: token.smith_id,
    actor,
    data: { token_id: tokenId, sub: subjectOf(db.projectId, token.smith_id), name: token.name },
  });
  return true;
}
