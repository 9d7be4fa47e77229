/** A secret that a provider sends with each call, where it does not sign: kept as a hash. */
import { createHash, timingSafeEqual } from 'node:crypto';

/** In hex, as `webhook_key_hash` has it. */
export function hashWebhookSecret(secret: string): string {
  return digest(secret).toString('hex');
}

/** In a time that tells nothing of either. */
export function isWebhookSecret(given: string | string[] | undefined, hash: string | null | undefined): boolean {
  const expected = Buffer.from(hash ?? '', 'hex');
  const found = digest(typeof given === 'string' ? given : '');
  return (
    timingSafeEqual(expected.length === found.length ? expected : Buffer.alloc(found.length), found) && given !== ''
  );
}

function digest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
