/** `<data folder>/credentials.json`: what the first boot made, for the operator alone. */
import { chmod, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface Credentials {
  readonly base_url: string;
  readonly organization_key: string;
  readonly project_id: string;
  readonly tenant_token: string;
}

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

export function credentialsPath(dataDir: string): string {
  return join(dataDir, 'credentials.json');
}

export async function hasCredentials(dataDir: string): Promise<boolean> {
  return (await readExisting(credentialsPath(dataDir))) !== undefined;
}

/**
 * Writes the file whole or not at all, readable by its owner alone. A file that is there already, of another database
 * perhaps, is kept under the name that is returned.
 */
export async function writeCredentials(
  dataDir: string,
  credentials: Credentials,
): Promise<{ path: string; keptAs: string | undefined }> {
  const path = credentialsPath(dataDir);
  await mkdir(dataDir, { recursive: true, mode: FOLDER_MODE });
  const draft = `${path}.${process.pid}.new`;
  await rm(draft, { force: true });
  await writeDurably(draft, `${JSON.stringify(credentials, null, 2)}\n`);
  const keptAs = await keepExisting(path);
  await rename(draft, path);
  await syncFolder(dataDir);
  return { path, keptAs };
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', FILE_MODE);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function keepExisting(path: string): Promise<string | undefined> {
  const existing = await readExisting(path);
  if (existing === undefined) return undefined;
  const { mtime } = await stat(path);
  const keptAs = path.replace(/\.json$/, `-${mtime.toISOString().replaceAll(/[:.]/g, '-')}.json`);
  await rename(path, keptAs);
  await chmod(keptAs, FILE_MODE);
  return keptAs;
}

async function readExisting(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The new name survives a power cut only once its folder has been written too. Windows cannot open a folder. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
