/** Whether this machine can make a box, found out by making one; and what to do where it cannot. */
import { execFile } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { abortAfter } from '../../kernel/clock/timers.ts';
import type { BoxPrograms } from './box-request.ts';
import type { BoxCgroups } from './cgroup/box-cgroup.ts';
import { createHostFolder, type HostFolder } from './host-folder.ts';
import { BoxError, runBox } from './run-box.ts';
import type { SandboxSettings } from './sandbox-settings.ts';

export interface FoundSandbox {
  readonly programs: BoxPrograms;
  readonly version: string;
}

export interface SandboxProblem {
  /** What is the matter, and how to mend it: for tenants as well as for operators. */
  readonly problem: string;
  readonly mend: string;
}

const SEARCHED = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'];
/** What runs inside, from /usr of this machine. */
const INSIDE = ['bash', 'tar'];
/** What the server itself calls. */
const BESIDE = ['mkfifo'];
const PACKAGES: Readonly<Record<string, string>> = {
  bash: 'bash',
  mkfifo: 'coreutils',
  tar: 'tar',
  setpriv: 'util-linux',
};
const MIN_VERSION = [0, 8] as const;
const TRIAL_MS = 10_000;

/** `cgroups`: tried, too. */
export async function findSandbox(
  settings: SandboxSettings,
  cgroups?: BoxCgroups,
): Promise<FoundSandbox | SandboxProblem> {
  if (process.platform !== 'linux') {
    return { problem: 'Commands run on Linux alone', mend: 'Run the server on Linux, with bubblewrap installed.' };
  }
  const bubblewrap = settings.bubblewrap ?? findProgram('bwrap');
  const version = bubblewrap === undefined ? undefined : await readVersion(bubblewrap);
  if (bubblewrap === undefined || version === undefined) {
    const where = settings.bubblewrap === undefined ? '' : ` at ${settings.bubblewrap}`;
    return {
      problem: `bubblewrap is not installed${where} on the server`,
      mend: 'Install it: apt-get install bubblewrap (0.8 or later).',
    };
  }
  if (isOlder(version)) {
    return {
      problem: `bubblewrap ${version} is too old`,
      mend: 'Install 0.8 or later: apt-get install bubblewrap, on a system that has it.',
    };
  }
  const isRoot = process.getuid?.() === 0;
  const missing = [...INSIDE, ...BESIDE, ...(isRoot ? ['setpriv'] : [])].find(
    (name) => findProgram(name) === undefined,
  );
  if (missing !== undefined) {
    return {
      problem: `${missing} is not installed on the server`,
      mend: `Install it: apt-get install ${PACKAGES[missing]}.`,
    };
  }
  const programs = { bubblewrap, setpriv: isRoot ? findProgram('setpriv') : undefined };
  let host: HostFolder;
  try {
    host = await createHostFolder();
  } catch (error) {
    return {
      problem: `No folder for boxes can be made among the temporary files of the server: ${messageOf(error)}`,
      mend: `Make room in ${tmpdir()} and let the server write there, or start it with another folder for temporary files, such as TMPDIR=/tmp.`,
    };
  }
  const failure = await tryBox(programs, settings, host, cgroups);
  // What is left of it is removed at the next start.
  await host.remove().catch(() => undefined);
  if (failure === undefined) return { programs, version };
  const closed = isRoot ? findClosedFolder(tmpdir()) : undefined;
  if (closed === undefined) return { problem: failure, mend: NAMESPACES_MEND };
  return {
    problem: `The users of boxes may not enter ${closed}, where temporary files of the server lie`,
    mend: `Let them pass (chmod o+x ${closed}), or start the server with another folder for temporary files, such as TMPDIR=/tmp.`,
  };
}

/** The topmost of the folders on the way that others than its owner and group may not pass. */
function findClosedFolder(path: string): string | undefined {
  const parent = dirname(path);
  const above = parent === path ? undefined : findClosedFolder(parent);
  if (above !== undefined) return above;
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined || (found.mode & constants.S_IXOTH) !== 0 ? undefined : path;
}

const NAMESPACES_MEND =
  'Let the server make user namespaces: sysctl -w user.max_user_namespaces=10000 kernel.unprivileged_userns_clone=1 ' +
  'kernel.apparmor_restrict_unprivileged_userns=0 (as far as the system has them); a container also needs ' +
  '--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined.';

/** What went wrong; undefined where a box came up. */
async function tryBox(
  programs: BoxPrograms,
  settings: SandboxSettings,
  host: HostFolder,
  cgroups: BoxCgroups | undefined,
): Promise<string | undefined> {
  try {
    const { exitCode } = await runBox({
      ...{ programs, settings, cgroups, secrets: new Map(), slot: 0, command: 'exit 7', timeoutMs: TRIAL_MS },
      mounts: { hostFolder: host.path, skills: new Map(), hidden: [] },
      filling: undefined,
      takeWorkspace: async () => undefined,
      started: async () => undefined,
      finished: async () => undefined,
      signal: abortAfter(2 * TRIAL_MS),
    });
    return exitCode === 7 ? undefined : `A box does not run commands as it should: exit code ${exitCode} in place of 7`;
  } catch (error) {
    if (error instanceof BoxError) return error.message;
    return `A box does not come up: ${messageOf(error)}`;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function findProgram(name: string): string | undefined {
  return SEARCHED.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function readVersion(program: string): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)(program, ['--version'], { env: {}, timeout: TRIAL_MS });
    return /(\d+\.\d+(?:\.\d+)?)/.exec(stdout)?.[1];
  } catch {
    return undefined;
  }
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < MIN_VERSION[0] || (major === MIN_VERSION[0] && minor < MIN_VERSION[1]);
}
