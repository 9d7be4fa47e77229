/**
 * The cgroup of one box: the limits are the whole's, and it has two leaves, as the command ends when memory does, and what packs the
 * workspace afterwards does not.
 *
 *   <base>/ironcraft-box-…      memory.max, memory.swap.max, pids.max
 *     supervisor                process 1 of the box, which moves there itself before it does anything
 *     command                   memory.oom.group: all of it ends, or nothing
 */
import { constants, mkdir, open, readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep } from '../../../kernel/clock/timers.ts';
import { nameOfOwn } from './owner.ts';

export const BOX_PREFIX = 'ironcraft-box-';
const LEAVES = ['supervisor', 'command'] as const;
/** A process that was killed is there until its memory has been given back. */
const REMOVE_ATTEMPTS = 100;
const REMOVE_INTERVAL_MS = 20;

export interface BoxCgroup {
  /** Where process 1 writes 0 to be in its leaf, and the command to be in the other. */
  readonly supervisorProcs: string;
  readonly commandProcs: string;
  /** Whether anything was ended because the whole had too much. */
  ranOutOfMemory(): Promise<boolean>;
  /** Ends all of its processes, and removes it once they are gone; what takes too long is left for the next start. */
  remove(): void;
}

export class BoxCgroups {
  readonly base: string;
  readonly #limitsProcesses: boolean;
  readonly #removals = new Set<Promise<unknown>>();

  constructor(base: string, limitsProcesses: boolean) {
    this.base = base;
    this.#limitsProcesses = limitsProcesses;
  }

  /** Throws what the kernel says where it cannot be made, and leaves nothing of it. */
  async create({
    memoryBytes,
    processes,
  }: {
    readonly memoryBytes: number;
    readonly processes: number;
  }): Promise<BoxCgroup> {
    const path = join(this.base, `${BOX_PREFIX}${nameOfOwn()}`);
    await mkdir(path);
    try {
      await writeExisting(join(path, 'memory.max'), String(memoryBytes));
      await writeWhereKnown(join(path, 'memory.swap.max'), '0');
      if (this.#limitsProcesses) await writeExisting(join(path, 'pids.max'), String(processes));
      await writeExisting(join(path, 'cgroup.subtree_control'), '+memory');
      for (const leaf of LEAVES) await mkdir(join(path, leaf));
      await writeExisting(join(path, 'command/memory.oom.group'), '1');
    } catch (error) {
      await removeCgroup(path);
      throw error;
    }
    return {
      supervisorProcs: join(path, 'supervisor/cgroup.procs'),
      commandProcs: join(path, 'command/cgroup.procs'),
      async ranOutOfMemory() {
        const events = await readFile(join(path, 'memory.events'), 'utf8');
        const count = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(events)?.[1] ?? 0);
        // The machine's own want of memory ends processes, too, and is not the command's fault.
        return count('oom') > 0 && count('oom_kill') > 0;
      },
      remove: () => {
        const removal = removeCgroup(path).finally(() => this.#removals.delete(removal));
        this.#removals.add(removal);
      },
    };
  }

  /** Once nothing is being removed any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#removals);
  }
}

/** False where its processes took too long to go. */
export async function removeCgroup(path: string): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    // Each time: what is being made while everything is ended may come after it. Kernels before 5.14 have no such file.
    await writeWhereKnown(join(path, 'cgroup.kill'), '1').catch(() => undefined);
    if (await tryRemove(path)) return true;
    if (attempt === REMOVE_ATTEMPTS) return false;
    await sleep(REMOVE_INTERVAL_MS);
  }
}

async function tryRemove(path: string): Promise<boolean> {
  for (const each of [...LEAVES.map((leaf) => join(path, leaf)), path]) {
    try {
      await rmdir(each);
    } catch (error) {
      if (!isMissing(error)) return false;
    }
  }
  return true;
}

/** To a file of the kernel's: one that is not there is not made. */
export async function writeExisting(path: string, text: string): Promise<void> {
  await using file = await open(path, constants.O_WRONLY);
  await file.write(text);
}

async function writeWhereKnown(path: string, text: string): Promise<void> {
  try {
    await writeExisting(path, text);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
