/** id_tokens (OpenID Connect Core, section 2): who let an app in, as a statement that is read once and opens nothing. */
import { SignJWT } from 'jose';
import type { Transaction } from '../../kernel/db/database.ts';
import type { SigningKeys } from '../access/signing-keys.ts';

const LIFETIME_SECONDS = 300;

/** What is known of whom the id_token is about. */
export interface IdentityClaims {
  readonly sub: string;
  readonly name?: string;
  readonly picture?: string;
  readonly email?: string;
  readonly email_verified?: boolean;
}

interface Statement {
  readonly issuer: string;
  readonly clientId: string;
  readonly nonce: string | null;
  readonly scopes: readonly string[];
  readonly claims: IdentityClaims;
  readonly now: Date;
}

/** What the scopes ask for and is known; the rest is left out. Without `jti` and `scope`, so it is no token of ours. */
export async function signIdToken(tx: Transaction, keys: SigningKeys, statement: Statement): Promise<string> {
  const { issuer, clientId, nonce, scopes, claims, now } = statement;
  const { sub, name, picture, email, email_verified } = claims;
  const issuedAt = Math.floor(now.getTime() / 1_000);
  const { kid, key } = await keys.signer(tx);
  return new SignJWT({
    ...(nonce === null ? {} : { nonce }),
    ...(scopes.includes('profile') ? { name, picture } : {}),
    ...(scopes.includes('email') ? { email, email_verified } : {}),
  })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid })
    .setIssuer(issuer)
    .setAudience(clientId)
    .setSubject(sub)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + LIFETIME_SECONDS)
    .sign(key);
}
