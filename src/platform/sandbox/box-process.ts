/**
 * The process of bubblewrap that a box is, with its descriptors. The small process that starts programs for the server starts it
 * (`kernel/child-process/spawner.ts`), is its parent, and ends with the server; and bubblewrap ends with its parent.
 */
import { closeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { type ProgramHandle, startProgram } from '../../kernel/child-process/spawner.ts';
import type { Descriptor } from '../../kernel/child-process/start-program.ts';
import { boxArguments } from './box-arguments.ts';
import type { BoxRequest } from './box-request.ts';
import type { BoxCgroup } from './cgroup/box-cgroup.ts';
import { BOX_FILES, SECCOMP_FILE } from './host-folder.ts';
import type { OutputPipe } from './output-pipes.ts';
import type { SandboxSettings } from './sandbox-settings.ts';
import { hasSeccompFilter } from './seccomp-filter.ts';
import { OWN_PROCESSES } from './watch-box.ts';

const ARGS_FD = 3;
/** Both ways: see supervise.sh. */
const CHANNEL_FD = 4;
const STOP_FD = 5;
const SUPERVISOR_CGROUP_FD = 6;
const COMMAND_CGROUP_FD = 7;
const INFO_FD = 8;
const SECCOMP_FD = 9;
const COMMAND_FD = 10;

const OPEN_FILES = 256;
const MAX_INFO = 200;
const NOTHING: Descriptor = { kind: 'nothing' };

export class BoxProcess {
  /** Until the process has ended and what the command wrote out is read. */
  readonly ended: Promise<void>;
  readonly #process: ProgramHandle;
  readonly #written: readonly OutputPipe[];
  readonly #channel = Promise.withResolvers<Socket | undefined>();
  #socket: Socket | undefined;
  #hasEnded = false;
  /** Why it did not start, or lost who started it. */
  #failure = '';

  /** `cameUp`: with its process 1, as this machine counts. */
  constructor(
    request: BoxRequest,
    cgroup: BoxCgroup | undefined,
    written: readonly [stdout: OutputPipe, stderr: OutputPipe],
    cameUp: (pid: number) => void,
  ) {
    this.#written = written;
    const exited = Promise.withResolvers<void>();
    let info: string | undefined = '';
    const [program = '', ...args] = commandLine(request);
    try {
      this.#process = startProgram(
        { program, args, descriptors: describeDescriptors(request, cgroup, written) },
        {
          started: (channel) => {
            this.#leaveWriting();
            this.#socket = channel;
            // A box that ends closes its end; what it has not read is lost with it.
            channel.on('error', () => undefined);
            this.#channel.resolve(channel);
          },
          told: (text) => {
            if (info === undefined) return;
            info = `${info}${text}`.slice(0, MAX_INFO);
            const pid = /"child-pid":\s*(\d+)/.exec(info)?.[1];
            if (pid === undefined) return;
            info = undefined;
            cameUp(Number(pid));
          },
          ended: ({ output }) => {
            this.#leaveWriting();
            this.#hasEnded = true;
            this.#failure = output;
            this.#channel.resolve(undefined);
            exited.resolve();
          },
        },
      );
    } catch (error) {
      this.#leaveWriting();
      throw error;
    }
    const read = written.map(({ reader }) => new Promise<void>((resolve) => reader.once('close', () => resolve())));
    this.ended = Promise.all([exited.promise, ...read]).then(() => undefined);
  }

  /** Undefined: it did not start. */
  get channel(): Promise<Socket | undefined> {
    return this.#channel.promise;
  }

  get failure(): string {
    return this.#failure;
  }

  /** Asks it to end the command and to hand the workspace out. */
  stop(): void {
    this.#process.release();
  }

  kill(): void {
    if (!this.#hasEnded) this.#process.kill();
  }

  /** Lets go of what nobody reads any more. Not when the process ends: by then the workspace may not have been read. */
  close(): void {
    this.#socket?.destroy();
    for (const { reader } of this.#written) reader.destroy();
  }

  /** The box has its own; as long as anybody has one, there is no end to what is read. */
  #leaveWriting(): void {
    for (const pipe of this.#written) {
      if (pipe.writerFd !== undefined) closeSync(pipe.writerFd);
      pipe.writerFd = undefined;
    }
  }
}

/** What each of them is. The command and secrets come by pipes: command lines are there for every user of the machine to read. */
function describeDescriptors(
  { settings, mounts, secrets, command }: BoxRequest,
  cgroup: BoxCgroup | undefined,
  [stdout, stderr]: readonly [stdout: OutputPipe, stderr: OutputPipe],
): Descriptor[] {
  const seccomp = hasSeccompFilter() ? SECCOMP_FD : undefined;
  const args = boxArguments(settings, mounts, secrets, { seccomp, info: INFO_FD, command: COMMAND_FD });
  const file = (path: string | undefined, mode: 'r' | 'w'): Descriptor =>
    path === undefined ? NOTHING : { kind: 'file', path, mode };
  const descriptors: Descriptor[] = [NOTHING, file(stdout.path, 'w'), file(stderr.path, 'w')];
  descriptors[ARGS_FD] = { kind: 'text', text: args.map((arg) => `${arg}\0`).join('') };
  descriptors[CHANNEL_FD] = { kind: 'channel' };
  descriptors[STOP_FD] = { kind: 'held' };
  descriptors[SUPERVISOR_CGROUP_FD] = file(cgroup?.supervisorProcs, 'w');
  descriptors[COMMAND_CGROUP_FD] = file(cgroup?.commandProcs, 'w');
  descriptors[INFO_FD] = { kind: 'told' };
  descriptors[SECCOMP_FD] =
    seccomp === undefined ? NOTHING : file(join(mounts.hostFolder, BOX_FILES, SECCOMP_FILE), 'r');
  descriptors[COMMAND_FD] = { kind: 'text', text: command };
  return descriptors;
}

/** What is started: neither a secret nor the command stands in it, as every user of the machine may read it. */
function commandLine({ programs, settings, slot, filling }: BoxRequest): string[] {
  const uid = String(settings.firstUid + slot);
  const drop =
    programs.setpriv === undefined
      ? []
      : [
          ...[
            programs.setpriv,
            `--reuid=${uid}`,
            `--regid=${uid}`,
            '--clear-groups',
            '--inh-caps=-all',
            '--no-new-privs',
          ],
          '--',
        ];
  return [
    ...drop,
    ...[programs.bubblewrap, '--args', String(ARGS_FD), '--'],
    ...[
      '/bin/bash',
      '--norc',
      '/box/files/supervise.sh',
      limitsOf(settings),
      filling === undefined ? 'empty' : 'filled',
    ],
  ];
}

/** Of each process: what one alone could take before anybody has looked. Arguments of bash's ulimit, which counts memory and files in KiB. */
function limitsOf({ memoryBytes, processes, workspaceBytes }: SandboxSettings): string {
  const kibibytes = (bytes: number) => Math.floor(bytes / 1_024);
  const limits = {
    u: processes + OWN_PROCESSES,
    d: kibibytes(memoryBytes),
    f: kibibytes(workspaceBytes),
    n: OPEN_FILES,
    c: 0,
    q: 0,
    l: 0,
  };
  return Object.entries(limits)
    .map(([option, value]) => `-${option} ${value}`)
    .join(' ');
}
