import type { KeyObject } from 'node:crypto';
import { randomBytes, randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeMasterKey, MASTER_KEY_BYTES } from './decode-master-key.ts';
import { VaultError } from './vault.ts';

export const MASTER_KEY_FILE = 'master.key';

/** File systems without hard links (exFAT, some network shares) answer one of these. */
const NO_HARD_LINKS = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL']);

interface KeySource {
  /** Configured keys; when there are any, no file is read or made. */
  readonly masterKeys: readonly KeyObject[];
  /** Absolute path of the folder that holds the key file. */
  readonly dataDir: string;
}

/**
 * The configured master keys, or those of `<dataDir>/master.key`: one a line, the first encrypts. The file is made with
 * mode 0600 when it is absent; of two processes that start at once, one makes it and both use it. Throws `VaultError`
 * when others may read the file or it holds no key.
 */
export async function loadMasterKeys(source: KeySource): Promise<readonly KeyObject[]> {
  if (source.masterKeys.length > 0) return source.masterKeys;
  const path = join(source.dataDir, MASTER_KEY_FILE);
  if (!(await fileExists(path))) {
    await mkdir(source.dataDir, { recursive: true, mode: 0o700 });
    await createKeyFile(source.dataDir, path);
  }
  await refuseSharedFile(path);
  return readKeyFile(path);
}

/** The file is never seen half-written: it is written under another name and linked, which fails if one exists. */
async function createKeyFile(folder: string, path: string): Promise<void> {
  const content = `${randomBytes(MASTER_KEY_BYTES).toString('base64')}\n`;
  const temporary = join(folder, `.${MASTER_KEY_FILE}.${randomUUID()}`);
  try {
    await writeFile(temporary, content, { flag: 'wx', mode: 0o600, flush: true });
    await link(temporary, path);
    await syncFolder(folder);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST') return;
    if (code === undefined || !NO_HARD_LINKS.has(code)) throw error;
    await createWithoutLink(path, content);
  } finally {
    await unlink(temporary).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error;
    });
  }
}

async function createWithoutLink(path: string, content: string): Promise<void> {
  try {
    await writeFile(path, content, { flag: 'wx', mode: 0o600, flush: true });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open a folder, and its file systems journal the entry themselves.
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function refuseSharedFile(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const { mode } = await stat(path);
  if ((mode & 0o077) === 0) return;
  throw new VaultError(
    'key_file',
    `${path} has mode ${(mode & 0o777).toString(8).padStart(4, '0')}, so others may read the master key: ` +
      `run chmod 600 ${path}, or, where the file system keeps no modes, set the key in the environment instead`,
  );
}

async function readKeyFile(path: string): Promise<readonly KeyObject[]> {
  const lines = (await readFile(path, 'utf8')).split(/[\s,]+/).filter((line) => line !== '');
  try {
    const keys = lines.map(decodeMasterKey);
    if (keys.length > 0) return keys;
  } catch (cause) {
    throw new VaultError('key_file', `${path} holds no valid master key: restore it from a backup`, { cause });
  }
  throw new VaultError('key_file', `${path} is empty: restore it from a backup, or delete it if nothing is stored yet`);
}

async function fileExists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
