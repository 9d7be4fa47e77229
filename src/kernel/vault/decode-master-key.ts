import { createSecretKey, type KeyObject } from 'node:crypto';

export const MASTER_KEY_BYTES = 32;

/**
 * Reads a 32-byte master key written as base64, base64url or 64 hexadecimal digits. Throws `TypeError`, whose message
 * never holds the text. The result is a KeyObject, so that printing or serializing it shows nothing.
 */
export function decodeMasterKey(text: string): KeyObject {
  const bytes = decodeBytes(text.trim());
  if (bytes?.length !== MASTER_KEY_BYTES) {
    throw new TypeError(
      'a master key is 32 random bytes as base64 or 64 hex digits; make one with: openssl rand -base64 32',
    );
  }
  return createSecretKey(bytes);
}

function decodeBytes(text: string): Buffer | undefined {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex');
  // Node decodes both alphabets alike and skips what it does not know, hence the check of the alphabet first.
  if (/^[A-Za-z0-9+/]{43}=?$/.test(text) || /^[A-Za-z0-9_-]{43}=?$/.test(text)) return Buffer.from(text, 'base64');
  return undefined;
}
