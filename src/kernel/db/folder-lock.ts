/**
 * Keeps a second process off a folder. The lock is SQLite's lock on an empty file: the operating system holds it, frees it
 * however the process ends (kill -9 too), and it holds between containers that share the folder, where a process id
 * says nothing. Node itself offers no file lock.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export class FolderInUseError extends Error {
  override readonly name = 'FolderInUseError';
}

export interface FolderLock {
  release(): void;
}

/** Makes the folder if need be. Throws FolderInUseError, which names the folder and the process that holds it. */
export function lockFolder(folder: string): FolderLock {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const ownerFile = join(folder, 'owner.json');
  // No journal: the file stays empty, so that a killed owner leaves nothing to recover.
  const file = new DatabaseSync(join(folder, 'lock'), { timeout: 0 });
  try {
    file.exec('pragma journal_mode = off; begin exclusive');
  } catch (error) {
    file.close();
    throw new FolderInUseError(
      `${folder} is in use by ${describeOwner(ownerFile)}. The embedded store serves one process: stop that one, choose another data folder, or use a PostgreSQL server for several`,
      { cause: error },
    );
  }
  writeFileSync(ownerFile, JSON.stringify({ pid: process.pid, since: new Date().toISOString() }), { mode: 0o600 });
  return { release: () => file.close() };
}

function describeOwner(ownerFile: string): string {
  try {
    const owner: unknown = JSON.parse(readFileSync(ownerFile, 'utf8'));
    if (typeof owner === 'object' && owner !== null && 'pid' in owner && 'since' in owner) {
      return `process ${String(owner.pid)} (since ${String(owner.since)})`;
    }
  } catch {
    // The owner is just starting and has not written its name yet.
  }
  return 'another process';
}
