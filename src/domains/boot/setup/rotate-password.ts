/**
 * Changes the password of a registry account (newPW, RFC 5730 2.9.1.1) so that it is lost at no moment:
 *
 *   new one in FILE.next ──▶ login that changes it ──▶ FILE.next becomes FILE
 *
 * Where the answer of the login is lost, or the process ends, FILE.next stays: the next call finds out which of the two holds.
 */
import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import type { EppEndpoint } from '../../registry/epp/index.ts';
import { readPasswordFile } from './password-file.ts';

interface Rotation {
  readonly endpoint: EppEndpoint;
  readonly passwordFile: string;
}

/** `finished`: a change that was begun before. Throws what the registry or the files do. */
export async function rotatePassword({ endpoint, passwordFile }: Rotation): Promise<'changed' | 'finished'> {
  const { changeEppPassword, tryEppLogin } = await import('../../registry/epp/index.ts');
  const nextFile = `${passwordFile}.next`;
  const begun = await readIfThere(nextFile);
  if (begun !== undefined) {
    const isNew = await tryEppLogin({ ...endpoint, password: begun }).then(
      () => true,
      () => false,
    );
    if (isNew) {
      await rename(nextFile, passwordFile);
      return 'finished';
    }
    // The old one must hold then, or neither: in that case both files stay for a person to look at.
    await tryEppLogin(endpoint);
    await rm(nextFile);
  }
  const password = mintPassword();
  await writeDurably(nextFile, password);
  await changeEppPassword(endpoint, password);
  await rename(nextFile, passwordFile);
  return 'changed';
}

/** As long as every registry takes it (RFC 5730 4.1: 6 to 16), with a letter, a digit and a sign for those that ask for each. */
function mintPassword(): string {
  return `${randomBytes(9).toString('base64url')}a7-A`;
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readPasswordFile(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

async function writeDurably(path: string, password: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(`${password}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}
