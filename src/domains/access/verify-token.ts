/**
 * Token text → caller. Every call looks its token up, so a revocation holds on every replica from the moment it commits: a
 * replica that were told of it would still take the token until the message has come. The questions of calls that come
 * together travel in one statement, which begins after they came.
 */
import type { Database } from '../../kernel/db/database.ts';
import { createBatcher } from '../../kernel/event-loop/batcher.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { Caller, TokenScope } from './caller.ts';
import { hashToken, TOKEN_PREFIX } from './tokens.ts';

const MAX_ASKED_TOGETHER = 1_000;
/** A connection that stalls does not keep everybody out. */
const PATIENCE_MS = 20;

interface TokenRow {
  position: number;
  workspace_id: string;
  id: string;
  scope: TokenScope;
  revoked_at: Date | null;
}

/** Throws `invalid_token` and `revoked_token`. */
export type TokenVerifier = (token: string) => Promise<Caller>;

export function createTokenVerifier(db: Database): TokenVerifier {
  const findToken = createBatcher(
    async (hashes: readonly Uint8Array[]) => {
      const { rows } = await db.query<TokenRow>({ text: findTokens, values: [hashes] });
      const found = new Map(rows.map((row) => [row.position, row]));
      return hashes.map((_, index) => found.get(index + 1));
    },
    { maxItems: MAX_ASKED_TOGETHER, patienceMs: PATIENCE_MS },
  );
  return async (token) => {
    if (!token.startsWith(TOKEN_PREFIX)) throw new ApiError('invalid_token');
    const row = await findToken(hashToken(token));
    if (row === undefined) throw new ApiError('invalid_token');
    if (row.revoked_at !== null) throw new ApiError('revoked_token');
    return { workspaceId: row.workspace_id, tokenId: row.id, scope: row.scope };
  };
}

const findTokens = `
  select asked.position, t.workspace_id, t.id, t.scope, t.revoked_at
    from unnest($1::bytea[]) with ordinality as asked (hash, position)
    join domains.tokens t on t.hash = asked.hash`;
