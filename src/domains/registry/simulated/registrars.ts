/** Registrars and their passwords, which are kept as scrypt hashes. */
import { createHmac, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { LRUCache } from 'lru-cache';
import { Refusal } from './replies.ts';
import type { RegistryDb } from './tables.ts';

const hashBytes = 32;
const saltBytes = 16;
const deriveKey = promisify<string, Buffer, number, Buffer>(scrypt);

/**
 * Which stored hashes this process has seen the password of: each connection of a client logs in, and a derivation takes 50 ms of a processor.
 * Kept as keyed hashes of both; a wrong password is derived each time.
 */
const proofs = new LRUCache<string, Promise<boolean>>({ max: 1_000 });
const proofKey = randomBytes(32);

export async function ensureRegistrar(
  db: RegistryDb,
  registrar: { readonly id: string; readonly name: string; readonly password?: string },
): Promise<void> {
  const { id, name, password } = registrar;
  const hash = password === undefined ? null : await hashPassword(password);
  await db
    .insertInto('registry_registrars')
    .values({ id, name, password_hash: hash })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet(hash === null ? { name } : { name, password_hash: hash }),
    )
    .execute();
}

/** Refuses with 2200 whatever is wrong, in the same time for an unknown registrar. */
export async function checkPassword(db: RegistryDb, id: string, password: string): Promise<void> {
  const row = await db
    .selectFrom('registry_registrars')
    .select('password_hash')
    .where('id', '=', id)
    .executeTakeFirst();
  if (await isPassword(row?.password_hash ?? '', password)) return;
  throw new Refusal(2200, 'no registrar has this id and password');
}

async function isPassword(stored: string, password: string): Promise<boolean> {
  const proof = nameProof(stored, password);
  const known = proofs.get(proof);
  if (known !== undefined) return known;
  const proven = matches(stored, password);
  // Connections that log in at once share it.
  proofs.set(proof, proven);
  const isRight = await proven.catch(() => false);
  if (!isRight) proofs.delete(proof);
  return proven;
}

function nameProof(stored: string, password: string): string {
  return createHmac('sha256', proofKey)
    .update(JSON.stringify([stored, password]))
    .digest('base64');
}

async function matches(stored: string, password: string): Promise<boolean> {
  const [salt = '', hash = ''] = stored.split(':');
  const expected = Buffer.from(hash, 'base64');
  const actual = await deriveKey(password, Buffer.from(salt, 'base64'), hashBytes);
  return expected.length === hashBytes && timingSafeEqual(expected, actual);
}

export async function setPassword(db: RegistryDb, id: string, password: string): Promise<void> {
  const hash = await hashPassword(password);
  await db.updateTable('registry_registrars').set({ password_hash: hash }).where('id', '=', id).execute();
}

async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const hash = await deriveKey(password, salt, hashBytes);
  const stored = `${salt.toString('base64')}:${hash.toString('base64')}`;
  proofs.set(nameProof(stored, password), Promise.resolve(true));
  return stored;
}
