/**
 * Secrets at rest. A sealed text is `v1.<key id>.<base64url of nonce, ciphertext, tag>`: AES-256-GCM under a data key
 * that HKDF-SHA256 derives from the master key and the context. The context (the row and column that hold the secret)
 * is authenticated too, so a sealed text that is moved to another row does not open.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const VERSION = 'v1';

export type VaultErrorCode = 'malformed' | 'unknown_key' | 'not_authentic' | 'key_file';

/** Its message holds neither key nor plain nor sealed text. */
export class VaultError extends Error {
  readonly code: VaultErrorCode;

  constructor(code: VaultErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'VaultError';
    this.code = code;
  }
}

export interface Vault {
  /** Encrypts under the first master key. `context` names where the result will lie, e.g. `model_keys/<id>/api_key`. */
  seal(plaintext: string | Uint8Array, context: string): string;
  /** Decrypts a text. Throws `VaultError` for a changed text, another context or an unknown key. */
  open(sealed: string, context: string): string;
  /** As `open`, for what was sealed as bytes. */
  openBytes(sealed: string, context: string): Uint8Array;
  /** Whether it was sealed under a key that is no longer the first, so that a rotation should seal it again. */
  needsReseal(sealed: string): boolean;
  /** A secret that follows from the first master key and what it is for: the same on every replica, another under another key. */
  derive(context: string, length: number): Uint8Array;
}

/** The first key seals, all of them open. At least one is needed; see `loadMasterKeys`. */
export function createVault(masterKeys: readonly KeyObject[]): Vault {
  const keys = new Map(masterKeys.map((key) => [keyIdOf(key), key]));
  const [first] = keys;
  if (first === undefined) throw new VaultError('unknown_key', 'the vault needs at least one master key');
  const [sealingId, sealingKey] = first;

  function openBytes(sealed: string, context: string): Buffer {
    const { keyId, payload } = parseSealed(sealed);
    const key = keys.get(keyId);
    if (key === undefined) {
      throw new VaultError(
        'unknown_key',
        `sealed under master key ${keyId}, which is not configured: add that key after the current one`,
      );
    }
    return decrypt(key, keyId, payload, context);
  }

  return {
    seal(plaintext, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, deriveDataKey(sealingKey, context), nonce);
      cipher.setAAD(additionalData(sealingId, context));
      const bytes = typeof plaintext === 'string' ? Buffer.from(plaintext, 'utf8') : plaintext;
      const sealed = Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
      return `${VERSION}.${sealingId}.${sealed.toString('base64url')}`;
    },
    open: (sealed, context) => openBytes(sealed, context).toString('utf8'),
    openBytes,
    derive: (context, length) => new Uint8Array(hkdfSync('sha256', sealingKey, '', `derived/${context}`, length)),
    needsReseal: (sealed) => parseSealed(sealed).keyId !== sealingId,
  };
}

/** Compares in constant time, whatever the lengths. */
export function timingSafeEqualText(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
}

function decrypt(key: KeyObject, keyId: string, payload: Buffer, context: string): Buffer {
  const tagStart = payload.length - TAG_BYTES;
  const decipher = createDecipheriv(CIPHER, deriveDataKey(key, context), payload.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(additionalData(keyId, context));
  decipher.setAuthTag(payload.subarray(tagStart));
  try {
    return Buffer.concat([decipher.update(payload.subarray(NONCE_BYTES, tagStart)), decipher.final()]);
  } catch (cause) {
    throw new VaultError('not_authentic', 'a sealed value was changed, or belongs to another place', { cause });
  }
}

function parseSealed(sealed: string): { keyId: string; payload: Buffer } {
  const [version, keyId, text, ...more] = sealed.split('.');
  const payload = Buffer.from(text ?? '', 'base64url');
  if (version !== VERSION || !keyId || more.length > 0 || payload.length < NONCE_BYTES + TAG_BYTES) {
    throw new VaultError('malformed', 'not a sealed value: expected v1.<key id>.<data>');
  }
  return { keyId, payload };
}

/** A key of its own per context keeps the number of random nonces under any one key far below GCM's bound. */
function deriveDataKey(masterKey: KeyObject, context: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', masterKey, new Uint8Array(0), deriveInfo(context), 32));
}

/** HKDF takes at most 1,024 bytes of info, hence a digest of the context. */
function deriveInfo(context: string): Buffer {
  return Buffer.concat([Buffer.from('vault data key\0'), createHash('sha256').update(context).digest()]);
}

function additionalData(keyId: string, context: string): Buffer {
  return Buffer.from(`${VERSION}.${keyId}\0${context}`, 'utf8');
}

/** Identifies a key without revealing anything of it. */
function keyIdOf(key: KeyObject): string {
  return createHmac('sha256', key).update('vault key id').digest('base64url').slice(0, 8);
}
