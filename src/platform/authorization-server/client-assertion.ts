/** `private_key_jwt`: a client signs a short-lived statement of who it is with its own key (RFC 7523). Each counts once. */
import { createLocalJWKSet, decodeJwt, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { OAuthClient } from './client.ts';
import type { ClientDocuments } from './client-documents.ts';
import { hashCredential } from './credentials.ts';

/** None of these can be made with a public key, or with nothing. */
export const ASSERTION_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
const MAX_LIFETIME_SECONDS = 3_600;
const CLOCK_TOLERANCE_SECONDS = 30;
const MAX_LENGTH = 8_192;

/** Who an assertion says that it is of; nothing of it is proven yet. Throws `unauthenticated`. */
export function subjectOfAssertion(assertion: string): string {
  if (assertion.length > MAX_LENGTH) throw refused('is too long');
  try {
    const { sub } = decodeJwt(assertion);
    if (sub !== undefined) return sub;
  } catch (cause) {
    throw refused('is no JWT', cause);
  }
  throw refused('has no `sub`');
}

/** Throws `unauthenticated`. */
export async function checkAssertion(
  deps: {
    readonly db: Database;
    readonly documents: ClientDocuments;
    readonly clock: Clock;
    readonly publicUrl: string;
  },
  client: OAuthClient,
  assertion: string,
): Promise<void> {
  const { publicUrl, clock } = deps;
  const { payload } = await jwtVerify(assertion, keysOf(client, deps.documents), {
    algorithms: [...ASSERTION_ALGORITHMS],
    issuer: client.id,
    subject: client.id,
    audience: [publicUrl, `${publicUrl}/oauth/token`, `${publicUrl}/oauth/revoke`],
    requiredClaims: ['exp', 'jti'],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    currentDate: clock.now(),
  }).catch((cause: unknown) => {
    throw refused('does not verify: its key, `iss`, `sub`, `aud`, `exp` or algorithm is not what it must be', cause);
  });
  await spend(deps.db, client.id, payload, clock.now());
}

function keysOf({ metadata }: OAuthClient, documents: ClientDocuments): JWTVerifyGetKey {
  if (metadata.jwks !== undefined) return createLocalJWKSet(metadata.jwks);
  return documents.keysAt(metadata.jwks_uri ?? '');
}

/** One row for each, so that the second fails at whichever replica it arrives. */
async function spend(db: Database, clientId: string, { jti = '', exp = 0 }: JWTPayload, now: Date): Promise<void> {
  const endsIn = exp - now.getTime() / 1_000;
  if (endsIn > MAX_LIFETIME_SECONDS) throw refused(`must end within ${MAX_LIFETIME_SECONDS} seconds`);
  const { rowCount } = await db.query({
    text: `
      insert into oauth_assertions (client_id, jti_hash, expires_at) values ($1, $2, $3)
      on conflict (client_id, jti_hash) do nothing`,
    values: [clientId, hashCredential(jti), new Date((exp + CLOCK_TOLERANCE_SECONDS) * 1_000)],
  });
  if (rowCount === 0) throw refused('was used before: each has a `jti` of its own');
}

function refused(what: string, cause?: unknown): ApiError {
  return new ApiError('unauthenticated', { message: `\`client_assertion\` ${what}.`, cause });
}
