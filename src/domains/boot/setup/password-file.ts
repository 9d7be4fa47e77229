import { readFile } from 'node:fs/promises';

/** The file's first line, which must be all of it. Throws without its content. */
export async function readPasswordFile(path: string): Promise<string> {
  const password = (await readFile(path, 'utf8')).replace(/\r?\n$/, '');
  if (password === '' || /[\r\n]/.test(password)) throw new Error(`${path} does not hold a password: one line`);
  return password;
}
