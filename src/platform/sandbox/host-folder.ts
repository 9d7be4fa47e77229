/**
 * The folder of this process for what boxes are given: files of their own /etc, and skills unpacked. It lies among the temporary
 * files rather than with the data, which only the server's own user may enter. What processes have left that died is removed at
 * the next start.
 */
import { randomBytes } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hasSeccompFilter, makeSeccompFilter } from './seccomp-filter.ts';

/** Below the folder: what every box is given. */
export const BOX_FILES = 'box';

/** Among them: what system calls they are refused, as bubblewrap reads it. */
export const SECCOMP_FILE = 'seccomp';

const PREFIX = 'ironcraft-sandbox';
export const SUPERVISOR = fileURLToPath(new URL('./supervise.sh', import.meta.url));
/** A folder of another machine or container that shares the temporary files: whether its process lives cannot be told here. */
const FOREIGN_AGE_MS = 86_400_000;

export interface HostFolder {
  readonly path: string;
  /** A new folder below it, which the users of boxes may read. */
  makeFolder(): Promise<string>;
  remove(): Promise<void>;
}

export async function createHostFolder(parent = tmpdir()): Promise<HostFolder> {
  await removeLeftovers(parent);
  hasFolders = true;
  const path = await mkdtemp(join(parent, `${PREFIX}-${pidNamespace()}-${process.pid}-`));
  // Entered by the users of boxes, listed by none of them.
  await chmod(path, 0o711);
  const files = join(path, BOX_FILES);
  await mkdir(files, { mode: 0o755 });
  await Promise.all([
    writeFile(join(files, 'passwd'), 'user:x:1000:1000:user:/workspace:/bin/sh\n'),
    writeFile(join(files, 'group'), 'user:x:1000:\n'),
    writeFile(join(files, 'hosts'), '127.0.0.1 localhost sandbox\n::1 localhost\n'),
    writeFile(join(files, SECCOMP_FILE), hasSeccompFilter() ? makeSeccompFilter() : ''),
    copyFile(SUPERVISOR, join(files, 'supervise.sh')),
  ]);
  // Whatever the process's umask is.
  await Promise.all([chmod(files, 0o755), ...(await readdir(files)).map((name) => chmod(join(files, name), 0o644))]);
  return {
    path,
    async makeFolder() {
      const made = join(path, randomBytes(12).toString('hex'));
      await mkdir(made);
      await chmod(made, 0o755);
      return made;
    },
    remove: () => rm(path, { recursive: true, force: true }),
  };
}

/** Removes the folders of processes that have ended. */
async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const [, namespace, pid] = new RegExp(`^${PREFIX}-(\\d+)-(\\d+)-`).exec(name) ?? [];
    if (namespace === undefined) continue;
    const path = join(parent, name);
    const isOver = namespace === pidNamespace() ? !isAlive(Number(pid)) : await isOld(path);
    // Another user's, perhaps: it is not this process's to remove.
    if (isOver) await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** Whether this process has made a folder: it may have several. */
let hasFolders = false;

function isAlive(pid: number): boolean {
  // In a container every start may have the same id: what is there already is of an earlier one.
  if (pid === process.pid) return hasFolders;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

async function isOld(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > FOREIGN_AGE_MS;
}

function pidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0';
  } catch {
    return '0';
  }
}
