/** Makes the delegated cgroup ready for boxes: the server moves to a leaf of it, limits are handed down, what is left of dead processes goes. */
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BOX_PREFIX, BoxCgroups, removeCgroup, writeExisting } from './box-cgroup.ts';
import { type CgroupFinder, type LocatedCgroup, locateCgroup, type NoCgroup, SERVER_CGROUP } from './locate-cgroup.ts';
import { isOfLivingProcess } from './owner.ts';

/** Processes that start meanwhile begin where the ones lie that start them. */
const MAX_MOVES = 20;

export async function prepareCgroups(setting: string, finder?: CgroupFinder): Promise<BoxCgroups | NoCgroup> {
  const located = locateCgroup(setting, finder);
  if ('reason' in located) return located;
  try {
    await divide(located);
    await removeLeftovers(located.base);
    return new BoxCgroups(located.base, located.controllers.includes('pids'));
  } catch (error) {
    return {
      reason: `the cgroup ${located.base} could not be divided: ${error instanceof Error ? error.message : String(error)}`,
      mend: 'Give the server a cgroup that nothing else is in, or name one as IRONCRAFT_SANDBOX_CGROUP.',
    };
  }
}

async function divide({ base, isInBase, controllers }: LocatedCgroup): Promise<void> {
  const wanted = ['memory', 'pids'].filter((name) => controllers.includes(name)).map((name) => `+${name}`);
  for (let move = 1; ; move += 1) {
    if (isInBase) await moveProcesses(base, join(base, SERVER_CGROUP));
    try {
      return await writeExisting(join(base, 'cgroup.subtree_control'), wanted.join(' '));
    } catch (error) {
      if (!isInBase || codeOf(error) !== 'EBUSY' || move === MAX_MOVES) throw error;
    }
  }
}

async function moveProcesses(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  const pids = (await readFile(join(from, 'cgroup.procs'), 'utf8')).split('\n').filter((pid) => pid !== '');
  for (const pid of pids) {
    try {
      await writeExisting(join(to, 'cgroup.procs'), pid);
    } catch (error) {
      // It has ended.
      if (codeOf(error) !== 'ESRCH') throw error;
    }
  }
}

async function removeLeftovers(base: string): Promise<void> {
  for (const name of await readdir(base)) {
    if (!name.startsWith(BOX_PREFIX) || isOfLivingProcess(name.slice(BOX_PREFIX.length))) continue;
    // What does not go now is tried again at the next start.
    await removeCgroup(join(base, name));
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
