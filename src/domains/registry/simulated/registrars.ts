/** Registrars and their passwords, which are kept as scrypt hashes. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { Refusal } from './replies.ts';
import type { RegistryDb } from './tables.ts';

const hashBytes = 32;
const saltBytes = 16;
const deriveKey = promisify<string, Buffer, number, Buffer>(scrypt);

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
  const [salt = '', hash = ''] = (row?.password_hash ?? '').split(':');
  const expected = Buffer.from(hash, 'base64');
  const actual = await deriveKey(password, Buffer.from(salt, 'base64'), hashBytes);
  if (expected.length === hashBytes && timingSafeEqual(expected, actual)) return;
  throw new Refusal(2200, 'no registrar has this id and password');
}

export async function setPassword(db: RegistryDb, id: string, password: string): Promise<void> {
  const hash = await hashPassword(password);
  await db.updateTable('registry_registrars').set({ password_hash: hash }).where('id', '=', id).execute();
}

async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const hash = await deriveKey(password, salt, hashBytes);
  return `${salt.toString('base64')}:${hash.toString('base64')}`;
}
