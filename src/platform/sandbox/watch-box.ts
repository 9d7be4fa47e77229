/**
 * Looks after what a box takes: its processes, files and sockets, and where no cgroup limits it, the memory of its processes together
 * with what lies in its temporary file systems. It looks through the box's own /proc, which lists nobody else, and it
 * ends nothing itself: a process id may be another's by the time.
 */
import { readdirSync, readFileSync, statfsSync } from 'node:fs';
import { setTicker } from '../../kernel/clock/timers.ts';
import type { SandboxSettings } from './sandbox-settings.ts';

const INTERVAL_MS = 40;
/** Files, folders and links of all its temporary file systems: each takes a kilobyte of the kernel's memory. */
const MAX_INODES = 100_000;
/** Each may hold some hundred kilobytes that nobody has read. */
const MAX_SOCKETS = 512;
/** Process 1, and the one that waits to be told that it is enough. */
export const OWN_PROCESSES = 2;

const FILE_SYSTEMS = ['/workspace', '/tmp', '/dev/shm'];

export interface WatchedLimits extends Pick<SandboxSettings, 'processes'> {
  /** Undefined: the kernel limits it, by a cgroup. */
  readonly memoryBytes: number | undefined;
}

export type Excess = 'memory' | 'processes' | 'files' | 'sockets';

/** Calls `exceeded` at every look that finds too much. `pid`: of the box's process 1, as this machine counts. */
export function watchBox(pid: number, limits: WatchedLimits, exceeded: (excess: Excess) => void): { stop(): void } {
  const root = `/proc/${pid}/root`;
  const look = () => {
    const excess = findExcess(root, limits);
    if (excess !== undefined) exceeded(excess);
  };
  const timer = setTicker(look, INTERVAL_MS);
  return { stop: () => timer.cancel() };
}

function findExcess(root: string, { memoryBytes, processes }: WatchedLimits): Excess | undefined {
  const pids = list(`${root}/proc`).filter((name) => /^\d+$/.test(name));
  if (pids.length > processes + 2 * OWN_PROCESSES) return 'processes';
  const stored = measureFileSystems(root);
  if (stored.inodes > MAX_INODES) return 'files';
  if (Number(/^sockets: used (\d+)$/m.exec(read(`${root}/proc/1/net/sockstat`))?.[1] ?? 0) > MAX_SOCKETS)
    return 'sockets';
  if (memoryBytes === undefined) return undefined;
  let resident = stored.bytes;
  for (const pid of pids) resident += residentBytes(read(`${root}/proc/${pid}/status`));
  if (resident <= memoryBytes) return undefined;
  // Processes that share pages were counted once each: counted again, by shares, which takes longer.
  let shares = stored.bytes;
  for (const pid of pids) shares += proportionalBytes(read(`${root}/proc/${pid}/smaps_rollup`));
  return shares > memoryBytes ? 'memory' : undefined;
}

/** Private memory; what is shared lies in the file systems, which are measured themselves. */
function residentBytes(status: string): number {
  return 1_024 * Number(/^RssAnon:\s*(\d+) kB$/m.exec(status)?.[1] ?? 0);
}

function proportionalBytes(rollup: string): number {
  return 1_024 * Number(/^Pss_Anon:\s*(\d+) kB$/m.exec(rollup)?.[1] ?? 0);
}

function measureFileSystems(root: string): { bytes: number; inodes: number } {
  let bytes = 0;
  let inodes = 0;
  for (const path of FILE_SYSTEMS) {
    try {
      const found = statfsSync(`${root}${path}`);
      bytes += (found.blocks - found.bfree) * found.bsize;
      inodes += found.files - found.ffree;
    } catch {
      // The box has just ended, or is not there yet.
    }
  }
  return { bytes, inodes };
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
