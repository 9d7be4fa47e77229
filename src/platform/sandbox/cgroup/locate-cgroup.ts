/**
 * Where the cgroups of boxes may be made: a cgroup of version 2 that was delegated to the server (cgroups(7), "Delegation"), which it
 * may write to and in which memory can be limited. Only reads, so that `doctor` can say it beside a running server.
 */
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

export interface LocatedCgroup {
  /** The folder below which boxes get theirs. */
  readonly base: string;
  /** Whether this process, and others beside it, lie in `base` itself, which may then have no limits to hand down. */
  readonly isInBase: boolean;
  readonly controllers: readonly string[];
}

export interface NoCgroup {
  readonly reason: string;
  readonly mend: string;
}

export interface CgroupFinder {
  readonly proc?: string;
  readonly isRoot?: boolean;
}

/** What moves from a cgroup that is divided: a cgroup has processes or limits to hand down, not both (cgroups(7)). */
export const SERVER_CGROUP = 'ironcraft-server';

const DELEGATE =
  'With systemd, add Delegate=yes and DelegateSubgroup=server to the unit; or give a cgroup that the server may write to as IRONCRAFT_SANDBOX_CGROUP.';
const VERSION_2 =
  'Start the machine with cgroups of version 2 alone (systemd.unified_cgroup_hierarchy=1), as systems since 2022 do.';

/** `setting`: `auto`, `off` or a folder. `proc`: of this process. */
export function locateCgroup(
  setting: string,
  { proc = '/proc/self', isRoot = process.getuid?.() === 0 }: CgroupFinder = {},
): LocatedCgroup | NoCgroup {
  if (setting === 'off')
    return { reason: 'IRONCRAFT_SANDBOX_CGROUP is off', mend: 'Leave IRONCRAFT_SANDBOX_CGROUP out.' };
  const { own, isTop } = findOwnCgroup(proc) ?? {};
  if (setting !== 'auto') return examine(setting, own === setting);
  if (own === undefined) return { reason: 'this process is in no cgroup of version 2', mend: VERSION_2 };
  const parent = dirname(own);
  // Already divided: by a process of this program beside this one, or by systemd (DelegateSubgroup=).
  if (basename(own) === SERVER_CGROUP || parent.endsWith('.service')) return examine(parent, false);
  // A session or a terminal: who started it would be moved, too.
  if (own.endsWith('.scope'))
    return { reason: `the cgroup ${own} is a session's, not the server's own`, mend: DELEGATE };
  // Root may write to all of them. Of a service without Delegate= systemd would end everything once a box has no memory left
  // (OOMPolicy=), and take back what was handed down.
  if (isRoot && !isTop)
    return { reason: `nothing says that the cgroup ${own} was delegated to the server`, mend: DELEGATE };
  return examine(own, true);
}

function examine(base: string, isInBase: boolean): LocatedCgroup | NoCgroup {
  const controllers = read(join(base, 'cgroup.controllers'))?.split(/\s+/);
  if (controllers === undefined) return { reason: `${base} is not a cgroup of version 2`, mend: DELEGATE };
  if (!controllers.includes('memory')) {
    return {
      reason: `the cgroup ${base} cannot limit memory`,
      mend: `${DELEGATE} Version 1 may hold the memory controller. ${VERSION_2}`,
    };
  }
  const isWritable = ['.', 'cgroup.procs', 'cgroup.subtree_control'].every((name) => canWrite(join(base, name)));
  if (!isWritable) return { reason: `the server may not write to the cgroup ${base}`, mend: DELEGATE };
  // The root of all has both, processes and limits to hand down; it alone has no type.
  return { base, isInBase: isInBase && existsSync(join(base, 'cgroup.type')), controllers };
}

/** The folder of this process's cgroup, and whether none above it is shown; undefined where there is none of version 2, or none that is mounted here. */
function findOwnCgroup(proc: string): { readonly own: string; readonly isTop: boolean } | undefined {
  const path = /^0::(\/.*)$/m.exec(read(join(proc, 'cgroup')) ?? '')?.[1];
  if (path === undefined) return undefined;
  for (const line of (read(join(proc, 'mountinfo')) ?? '').split('\n')) {
    // proc_pid_mountinfo(5): id, parent, device, root, mount point, options, further fields, a dash, type.
    const [, root, mountPoint] = /^\d+ \d+ \S+ (\S+) (\S+) .* - cgroup2 /.exec(line) ?? [];
    if (root === undefined || mountPoint === undefined) continue;
    const below =
      root === '/' ? path : path.startsWith(`${root}/`) || path === root ? path.slice(root.length) : undefined;
    if (below === undefined) continue;
    return { own: join(decodeOctal(mountPoint), below).replace(/(?<=.)\/$/, ''), isTop: below === '' || below === '/' };
  }
  return undefined;
}

/** Blanks and the like are written in octal. */
function decodeOctal(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

function canWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
