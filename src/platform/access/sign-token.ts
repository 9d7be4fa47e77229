/** Mints token texts. The row that makes a token revocable is the caller's to insert, in the same transaction. */
import { SignJWT } from 'jose';
import type { Transaction } from '../../kernel/db/database.ts';
import type { SigningKeys } from './signing-keys.ts';

/** What a token's text begins with, so that people and secret scanners can tell what they hold. */
export const HANDLE_PREFIXES = { tenant: 'tha_live_', smith: 'thp_live_', organization: 'tho_live_' } as const;

export interface TokenClaims {
  readonly kind: keyof typeof HANDLE_PREFIXES;
  /** `<project>`, `<project>:<smith>` or `<organization>`. */
  readonly subject: string;
  readonly tokenId: string;
  readonly scopes: readonly string[];
  readonly issuedAt: Date;
  readonly expiresAt: Date | null;
  /** The one address that takes it (RFC 8707). */
  readonly audience?: string;
}

export type TokenSigner = (tx: Transaction, claims: TokenClaims) => Promise<string>;

/** Signs RS256 JWTs with the current key; `kid` names it. */
export function createTokenSigner(keys: SigningKeys, issuer: string): TokenSigner {
  return async (tx, { kind, subject, tokenId, scopes, issuedAt, expiresAt, audience }) => {
    const { kid, key } = await keys.signer(tx);
    const jwt = new SignJWT({ scope: scopes.join(' ') })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid })
      .setIssuer(issuer)
      .setSubject(subject)
      .setJti(tokenId)
      .setIssuedAt(issuedAt);
    if (expiresAt !== null) jwt.setExpirationTime(expiresAt);
    if (audience !== undefined) jwt.setAudience(audience);
    return HANDLE_PREFIXES[kind] + (await jwt.sign(key));
  };
}
