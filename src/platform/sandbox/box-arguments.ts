/** What bubblewrap is told: the file system, the namespaces and the environment of a box. */
import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { BOX_FILES } from './host-folder.ts';
import type { SandboxSettings } from './sandbox-settings.ts';

/** Who the command is inside its box, whoever that is outside. */
const UID_INSIDE = '1000';

export interface BoxMounts {
  /** Where `passwd`, `group` and the supervisor lie. */
  readonly hostFolder: string;
  /** Folders of skills on this machine, by the name that each has below /skills. */
  readonly skills: ReadonlyMap<string, string>;
  /** Folders of this machine that nobody in a box may see, where what is mounted would show them. */
  readonly hidden: readonly string[];
}

export interface BoxDescriptors {
  readonly seccomp: number | undefined;
  readonly info: number;
  readonly command: number;
}

/** Folders at the top of the file system that hold programs and libraries: of their own, or links into /usr. */
const SYSTEM_FOLDERS = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'];
/** What programs look for outside /usr: the links by which Debian chooses among programs, and the index of libraries. */
const SYSTEM_SETTINGS = ['alternatives', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'ssl/certs', 'mime.types'];

/** All of them but the command itself: to be handed over by `--args`, so that no list of processes shows a secret. */
export function boxArguments(
  settings: Pick<SandboxSettings, 'workspaceBytes'>,
  mounts: BoxMounts,
  environment: ReadonlyMap<string, string>,
  { seccomp, info, command }: BoxDescriptors,
): string[] {
  const temporaryBytes = Math.max(Math.floor(settings.workspaceBytes / 4), 1_048_576);
  const folder = (path: string, bytes: number, mode: string) => [
    ...['--perms', mode, '--size', String(bytes), '--tmpfs', path],
  ];
  return [
    ...['--unshare-all', '--unshare-user', '--disable-userns', '--uid', UID_INSIDE, '--gid', UID_INSIDE],
    ...['--hostname', 'sandbox', '--as-pid-1', '--new-session', '--die-with-parent', '--cap-drop', 'ALL', '--clearenv'],
    ...['--ro-bind', '/usr', '/usr', ...SYSTEM_FOLDERS.flatMap(systemFolder)],
    ...SYSTEM_SETTINGS.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    // Links, as each mount takes its time.
    ...['--ro-bind', join(mounts.hostFolder, BOX_FILES), '/box/files'],
    ...['passwd', 'group', 'hosts'].flatMap((name) => ['--symlink', `/box/files/${name}`, `/etc/${name}`]),
    ...['--perms', '0444', '--ro-bind-data', String(command), '/box/command'],
    ...[...mounts.skills].flatMap(([name, path]) => ['--ro-bind', path, `/skills/${name}`]),
    ...mounts.hidden.filter(isShown).flatMap((path) => [...folder(path, 4_096, '0555'), '--remount-ro', path]),
    // Settings of the kernel that namespaces have of their own are their owner's to write: of these too, none is a command's.
    ...['--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys', '--dev', '/dev'],
    ...folder('/dev/shm', temporaryBytes, '1777'),
    ...['--remount-ro', '/dev'],
    ...folder('/tmp', temporaryBytes, '1777'),
    ...folder('/workspace', settings.workspaceBytes, '0755'),
    ...['input', 'output'].flatMap((name) => ['--perms', '0755', '--dir', `/workspace/${name}`]),
    ...['--remount-ro', '/', '--chdir', '/'],
    ...['--setenv', 'PATH', '/usr/local/bin:/usr/bin:/bin', '--setenv', 'HOME', '/workspace'],
    ...['--setenv', 'USER', 'user', '--setenv', 'LANG', 'C.UTF-8', '--setenv', 'TMPDIR', '/tmp'],
    ...[...environment].flatMap(([name, value]) => ['--setenv', name, value]),
    ...(seccomp === undefined ? [] : ['--seccomp', String(seccomp)]),
    ...['--info-fd', String(info)],
  ];
}

function systemFolder(name: string): string[] {
  const path = `/${name}`;
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return [];
  return found.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}

/** Whether a box would see it. */
function isShown(path: string): boolean {
  return path.startsWith('/usr/') && existsSync(path);
}
