/**
 * Tokens: `icd_live_` and 43 random characters. The database has their SHA-256 alone; 256 random bits need no slow hash,
 * and what is looked up by its hash cannot be guessed byte by byte.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Executor } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { workspaceDb } from '../workspace-scope.ts';
import type { TokenScope } from './caller.ts';

export const TOKEN_PREFIX = 'icd_live_';

export interface NewToken {
  readonly userId: string | null;
  readonly scope: TokenScope;
  /** What it is for. */
  readonly name: string;
}

export interface IssuedToken {
  readonly id: string;
  /** Shown once, in the answer that issues it. */
  readonly token: string;
  readonly scope: TokenScope;
  readonly name: string;
}

/** Mints a token of the workspace. */
export async function issueToken(tx: Executor, workspaceId: string, asked: NewToken): Promise<IssuedToken> {
  const { userId, scope, name } = asked;
  const token = `${TOKEN_PREFIX}${randomBytes(32).toString('base64url')}`;
  const id = mintId('dtk');
  await workspaceDb(tx, workspaceId)
    .insertInto('tokens')
    .values({ id, user_id: userId, hash: hashToken(token), scope, name, revoked_at: null })
    .execute();
  return { id, token, scope, name };
}

/** Revokes at once, on every replica: tokens are looked up with each call. False when there is no such live token. */
export async function revokeToken(tx: Executor, workspaceId: string, id: string, now: Date): Promise<boolean> {
  const result = await workspaceDb(tx, workspaceId)
    .updateTable('tokens')
    .set({ revoked_at: now })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

export function hashToken(token: string): Uint8Array {
  return createHash('sha256').update(token).digest();
}
