/** Secrets that clients are given: codes, refresh tokens, client secrets. They are random, so a plain hash of one tells nothing. */
import { createHash, randomBytes } from 'node:crypto';

/** What each begins with, so that people and secret scanners can tell what they hold. */
export const CREDENTIAL_PREFIXES = { code: 'oac_live_', refreshToken: 'ort_live_', clientSecret: 'ocs_live_' } as const;

export function mintCredential(kind: keyof typeof CREDENTIAL_PREFIXES): {
  readonly text: string;
  readonly hash: string;
} {
  const text = CREDENTIAL_PREFIXES[kind] + randomBytes(32).toString('base64url');
  return { text, hash: hashCredential(text) };
}

export function hashCredential(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
