/**
 * Token text → caller. The signature of a token is verified once and remembered; whether it still stands is asked of
 * the store on every request, so a revocation holds on every replica from the moment it commits. The questions of
 * requests that arrive together travel in one statement.
 */
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { createBatcher } from '../../kernel/event-loop/batcher.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { type Caller, ORGANIZATION_MARKER } from './caller.ts';
import { HANDLE_PREFIXES } from './sign-token.ts';
import type { SigningKeys } from './signing-keys.ts';

const MAX_REMEMBERED = 20_000;
const MAX_TOKEN_LENGTH = 4_096;
const MAX_ASKED_TOGETHER = 1_000;
/** A connection that stalls does not keep everybody out. */
const PATIENCE_MS = 20;
/** A handle prefix and the three parts of a JWT in compact form (RFC 7515, section 7.1). */
const TOKEN = new RegExp(`^(${Object.values(HANDLE_PREFIXES).join('|')})([\\w-]+)\\.([\\w-]+)\\.([\\w-]+)$`);

export interface TokenVerifier {
  /**
   * Throws `unauthenticated` for a token that is malformed, forged, expired or revoked, or has the prefix of another kind.
   * `onClaimed` is called once it is known not to be malformed, forged or expired.
   */
  verify(token: string, onClaimed?: (caller: Caller) => void): Promise<Caller>;
}

interface Remembered {
  readonly caller: Caller;
  /** The key that signed it: a token falls with its key. */
  readonly kid: string;
  readonly expiresAtMs: number;
}

export function createTokenVerifier(db: Database, keys: SigningKeys, clock: Clock): TokenVerifier {
  const remembered = new LRUCache<string, Remembered>({ max: MAX_REMEMBERED });
  const isLive = createLivenessCheck(db);
  return {
    async verify(token, onClaimed) {
      let entry = remembered.get(token);
      if (entry === undefined) {
        entry = await verifySignature(token, keys, clock);
        remembered.set(token, entry);
      }
      if (entry.expiresAtMs <= clock.now().getTime()) {
        remembered.delete(token);
        throw new ApiError('unauthenticated', { message: 'The token has expired. Mint a new one.' });
      }
      const standing = isLive(entry);
      // Where the next line throws nobody asks for it any more.
      standing.catch(() => undefined);
      onClaimed?.(entry.caller);
      if (!(await standing)) {
        remembered.delete(token);
        throw new ApiError('unauthenticated', {
          message: 'The token no longer stands: it, its project or its smith has ended. Mint a new one.',
        });
      }
      return entry.caller;
    },
  };
}

async function verifySignature(token: string, keys: SigningKeys, clock: Clock): Promise<Remembered> {
  const refuse = (cause?: unknown) =>
    new ApiError('unauthenticated', { message: 'The token is not one of this server’s. Check its value.', cause });
  const [, prefix, ...parts] = token.length > MAX_TOKEN_LENGTH ? [] : (TOKEN.exec(token) ?? []);
  if (prefix === undefined || !parts.every(isCanonical)) throw refuse();
  const jwt = parts.join('.');
  try {
    const { kid } = decodeProtectedHeader(jwt);
    const key = kid === undefined ? undefined : await keys.verifier(kid);
    if (kid === undefined || key === undefined) throw refuse();
    const { payload } = await jwtVerify(jwt, key, { algorithms: ['RS256'], currentDate: clock.now() });
    const caller = callerOf(payload);
    if (caller === undefined || HANDLE_PREFIXES[caller.kind] !== prefix) throw refuse();
    return { caller, kid, expiresAtMs: payload.exp === undefined ? Number.POSITIVE_INFINITY : payload.exp * 1000 };
  } catch (error) {
    if (error instanceof errors.JWTExpired) {
      throw new ApiError('unauthenticated', { message: 'The token has expired. Mint a new one.' });
    }
    if (error instanceof errors.JOSEError || error instanceof TypeError) throw refuse(error);
    throw error;
  }
}

/**
 * Whether the base64url text is the one spelling of its bytes: no padding, and no bits that are left over in its last
 * character, which decoders ignore. With that a token has one text, for an RS256 signature is one number.
 */
function isCanonical(text: string): boolean {
  return Buffer.from(text, 'base64url').toString('base64url') === text;
}

/** Undefined for what is signed with the same key and is no token of ours, such as an id_token: it has no `scope`. */
function callerOf({ sub: subject, jti: tokenId, scope, aud }: JWTPayload): Caller | undefined {
  if (subject === undefined || tokenId === undefined || typeof scope !== 'string') return undefined;
  const scopes = new Set(scope.split(' ').filter((text) => text !== ''));
  if (scopes.has(ORGANIZATION_MARKER)) return { kind: 'organization', organizationId: subject, tokenId };
  const [projectId, smithId] = subject.split(':');
  if (!projectId) return undefined;
  if (smithId === undefined) return { kind: 'tenant', projectId, tokenId, scopes };
  const bound = typeof aud === 'string' ? { audience: aud } : {};
  return { kind: 'smith', projectId, smithId, tokenId, scopes, ...bound };
}

/** Answers "does this token still stand?" for all callers who ask together with one statement, which begins after they asked. */
function createLivenessCheck(db: Database): (token: Remembered) => Promise<boolean> {
  return createBatcher(
    async (tokens: readonly Remembered[]) => {
      const owners = tokens.map(({ caller }) =>
        caller.kind === 'organization' ? caller.organizationId : caller.projectId,
      );
      const values = [owners, tokens.map(({ caller }) => caller.tokenId), tokens.map(({ kid }) => kid)];
      const { rows } = await db.query<{ position: number }>({ ...liveTokensStatement, values });
      const live = new Set(rows.map(({ position }) => position));
      return tokens.map((_, index) => live.has(index + 1));
    },
    { maxItems: MAX_ASKED_TOGETHER, patienceMs: PATIENCE_MS },
  );
}

/** A token stands while it is not revoked and its key, its project, the smith and the deployment it is bound to have not ended. */
const liveTokensStatement = {
  isQuick: true,
  text: `
    with asked as (
      select asked.owner, asked.id, asked.position
        from unnest($1::text[], $2::text[], $3::text[]) with ordinality as asked (owner, id, kid, position)
        join signing_keys k on k.kid = asked.kid and k.retired_at is null
    )
    select asked.position from asked join tokens t on t.project_id = asked.owner and t.id = asked.id
      join projects p on p.id = t.project_id
      left join smiths s on s.project_id = t.project_id and s.id = t.smith_id
      left join deployments d on d.project_id = t.project_id and d.id = t.deployment_id
      where t.revoked_at is null and p.archived_at is null and s.archived_at is null
        and (t.deployment_id is null or d.id is not null)
    union all
    select asked.position from asked join organization_keys k on k.organization_id = asked.owner and k.id = asked.id
      where k.revoked_at is null`,
} as const;
