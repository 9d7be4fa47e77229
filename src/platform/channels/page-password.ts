/** Passwords of hosted pages, kept as hashes that cost time to guess: `scrypt$<salt>$<hash>`. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { ApiError } from '../../kernel/http/errors.ts';
import type { JsonObject } from '../tables.ts';

export const MAX_PASSWORD_CHARS = 256;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Node's default, 16 MiB and some 50 ms. */
const COST = { N: 16_384, r: 8, p: 1 };

/** Of the secrets of a page; undefined: everyone may write. Throws `invalid_request`. */
export function readPassword({ password, ...unknown }: JsonObject): string | undefined {
  const [other] = Object.keys(unknown);
  if (other !== undefined) {
    const message = `A page has no secret \`${other}\`. Send \`password\`, or leave \`secrets\` out.`;
    throw new ApiError('invalid_request', { param: `secrets.${other}`, message });
  }
  if (password === undefined) return undefined;
  if (typeof password === 'string' && password !== '' && password.length <= MAX_PASSWORD_CHARS) return password;
  throw new ApiError('invalid_request', {
    param: 'secrets.password',
    message: `A page's password is a text of 1 to ${MAX_PASSWORD_CHARS} characters.`,
  });
}

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, salt);
  return ['scrypt', salt.toString('base64url'), hash.toString('base64url')].join('$');
}

/** In a time that does not tell how much of it was right. */
export async function isPassword(password: string, stored: string): Promise<boolean> {
  const [, salt = '', hash = ''] = stored.split('$');
  const expected = Buffer.from(hash, 'base64url');
  const derived = await derive(password, Buffer.from(salt, 'base64url'));
  return derived.length === expected.length && timingSafeEqual(derived, expected);
}

function derive(password: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // The same letters, whatever keyboard they come from.
    scrypt(password.normalize('NFKC'), salt, HASH_BYTES, COST, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}
