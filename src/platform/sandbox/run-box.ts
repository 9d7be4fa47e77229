/**
 * One command in one box: a process of bubblewrap, which ends with this process whatever happens, and with it everything in
 * the box. See supervise.sh for what runs inside.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { type BoxMounts, boxArguments } from './box-arguments.ts';
import type { BoxCgroup, BoxCgroups } from './cgroup/box-cgroup.ts';
import { type CollectedText, OutputCollector } from './mask-secrets.ts';
import { type OutputPipe, openOutputPipes } from './output-pipes.ts';
import type { SandboxSettings } from './sandbox-settings.ts';
import { hasSeccompFilter, makeSeccompFilter } from './seccomp-filter.ts';
import { ByteReader, WorkspaceError } from './tar-stream.ts';
import { type Excess, OWN_PROCESSES, watchBox } from './watch-box.ts';

/** Where the programs lie that a box is made with. */
export interface BoxPrograms {
  readonly bubblewrap: string;
  /** Undefined: the server is not root, and the box has its uid. */
  readonly setpriv: string | undefined;
}

export interface BoxRequest {
  readonly programs: BoxPrograms;
  readonly settings: SandboxSettings;
  /** Undefined: none were delegated, and memory is watched. */
  readonly cgroups: BoxCgroups | undefined;
  readonly mounts: BoxMounts;
  /** Among the boxes that run in this process at the same time, from 0. */
  readonly slot: number;
  readonly command: string;
  readonly timeoutMs: number;
  /** The values are masked in what the command writes out. */
  readonly secrets: ReadonlyMap<string, string>;
  /** A tar, from the top of the box; undefined: the workspace is empty. */
  readonly filling: AsyncIterable<Uint8Array> | undefined;
  /** Is given the tar of the workspace as the command left it; may throw WorkspaceError. */
  readonly takeWorkspace: (tar: ByteReader) => Promise<void>;
  /** The box is up, and the command begins. What it throws ends the box, and is thrown. */
  readonly started: () => Promise<void>;
  readonly signal: AbortSignal;
}

export interface BoxOutcome {
  readonly exitCode: number;
  readonly stdout: CollectedText;
  readonly stderr: CollectedText;
  readonly timedOut: boolean;
  readonly excess: Excess | undefined;
  /** Why the workspace stays as it was before; undefined: it was taken. */
  readonly workspaceProblem: string | undefined;
  readonly seconds: number;
}

/** The box did not come up: no command has run. */
export class BoxError extends Error {
  override readonly name = 'BoxError';
}

const ARGS_FD = 3;
const FILL_FD = 4;
const RESULT_FD = 5;
const STOP_FD = 6;
const SUPERVISOR_CGROUP_FD = 7;
const COMMAND_CGROUP_FD = 8;
const INFO_FD = 9;
const SECCOMP_FD = 10;
const COMMAND_FD = 11;

/** For what is not the command's own work. */
const FILLING_MS = 60_000;
const TAKING_MS = 60_000;
/** From when a box is told that it is enough until it is ended from outside, with its workspace. */
const GRACE_MS = 3_000;
const MAX_LINE = 200;
/** As a shell has it: ended by SIGKILL. */
const KILLED = 137;
const OPEN_FILES = 256;
const MAX_FOLDED_MESSAGE = 1_000;

/** Throws BoxError where no command has run, and the signal's reason. */
export async function runBox(request: BoxRequest): Promise<BoxOutcome> {
  request.signal.throwIfAborted();
  const { programs, settings, mounts, slot } = request;
  const uid = programs.setpriv === undefined ? undefined : settings.firstUid + slot;
  const cgroup = await makeCgroup(request);
  let box: Box;
  try {
    box = new Box(request, cgroup, await openOutputPipes(mounts.hostFolder, slot, uid));
  } catch (error) {
    cgroup?.remove();
    throw error;
  }
  const abort = () => box.end();
  request.signal.addEventListener('abort', abort, { once: true });
  try {
    const outcome = await box.run();
    request.signal.throwIfAborted();
    return outcome;
  } catch (error) {
    request.signal.throwIfAborted();
    throw error;
  } finally {
    request.signal.removeEventListener('abort', abort);
    box.end();
    await box.ended;
    box.close();
    cgroup?.remove();
  }
}

/** Where limits are the kernel's, no command runs without them. */
async function makeCgroup({ cgroups, settings }: BoxRequest): Promise<BoxCgroup | undefined> {
  try {
    const processes = settings.processes + 2 * OWN_PROCESSES;
    return await cgroups?.create({ memoryBytes: settings.memoryBytes, processes });
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw new BoxError(`The box did not come up: its cgroup could not be made: ${said}`);
  }
}

class Box {
  readonly ended: Promise<void>;
  readonly #request: BoxRequest;
  readonly #cgroup: BoxCgroup | undefined;
  readonly #process: ChildProcess;
  readonly #written: readonly OutputPipe[];
  readonly #stdout: OutputCollector;
  readonly #stderr: OutputCollector;
  readonly #result: ByteReader;
  #timer: NodeJS.Timeout | undefined;
  #watch: { stop(): void } | undefined;
  #excess: Excess | undefined;
  #timedOut = false;

  constructor(
    request: BoxRequest,
    cgroup: BoxCgroup | undefined,
    [stdout, stderr]: readonly [stdout: OutputPipe, stderr: OutputPipe],
  ) {
    this.#request = request;
    this.#cgroup = cgroup;
    this.#written = [stdout, stderr];
    const { settings, secrets } = request;
    const [program = '', ...args] = commandLine(request);
    const opened = [stdout.writerFd, stderr.writerFd];
    try {
      const stdio: ('ignore' | 'pipe' | number)[] = Array.from({ length: COMMAND_FD + 1 }, () => 'pipe');
      stdio.splice(0, opened.length + 1, 'ignore', ...opened);
      for (const [fd, path] of [
        [SUPERVISOR_CGROUP_FD, cgroup?.supervisorProcs],
        [COMMAND_CGROUP_FD, cgroup?.commandProcs],
      ] as const) {
        const procs = openSync(path ?? '/dev/null', 'w');
        opened.push(procs);
        stdio[fd] = procs;
      }
      this.#process = spawn(program, args, { env: {}, cwd: '/', stdio });
    } finally {
      // The box has its own; as long as anybody has one, there is no end to what is read.
      for (const fd of opened) closeSync(fd);
    }
    this.ended = this.#waitForEnd();
    this.#stdout = new OutputCollector(stdout.reader, settings.streamBytes, secrets.values());
    this.#stderr = new OutputCollector(stderr.reader, settings.streamBytes, secrets.values());
    this.#result = new ByteReader(this.#pipe(RESULT_FD));
  }

  /** Until the process has ended and what the command wrote out is read. Not 'close', which waits for pipes that nobody reads. */
  async #waitForEnd(): Promise<void> {
    const exit = new Promise<void>((resolve) => {
      this.#process.once('exit', () => resolve());
      this.#process.once('error', () => resolve());
    });
    const written = this.#written.map(
      ({ reader }) => new Promise<void>((resolve) => reader.once('close', () => resolve())),
    );
    await Promise.all([exit, ...written]);
  }

  async run(): Promise<BoxOutcome> {
    this.#begin();
    const filled = this.#fill();
    this.#endAfter(FILLING_MS);
    const began = await this.#result.readLine(MAX_LINE);
    if (began !== 'filled') {
      this.end();
      // What it was to be filled with may never come.
      const problem = await Promise.race([filled, this.ended]);
      await this.ended;
      throw problem ?? this.#describeFailure();
    }
    const startedAt = performance.now();
    const { timeoutMs } = this.#request;
    this.#after(timeoutMs, () => {
      this.#timedOut = true;
      this.#stop();
    });
    const [line] = await Promise.all([this.#result.readLine(MAX_LINE), this.#request.started()]);
    const seconds = (performance.now() - startedAt) / 1_000;
    const status = /^exit (\d{1,3})$/.exec(line)?.[1];
    const workspaceProblem = status === undefined ? 'the box was ended with it' : await this.#takeWorkspace();
    if (await this.#cgroup?.ranOutOfMemory()) this.#excess ??= 'memory';
    this.end();
    await this.ended;
    return {
      exitCode: status === undefined ? KILLED : Number(status),
      stdout: this.#stdout.collect(),
      stderr: this.#stderr.collect(),
      timedOut: this.#timedOut,
      excess: this.#excess,
      workspaceProblem,
      seconds,
    };
  }

  /** Ends every process of the box, at once. */
  end(): void {
    clearTimeout(this.#timer);
    this.#watch?.stop();
    if (this.#process.exitCode === null && this.#process.signalCode === null) this.#process.kill('SIGKILL');
  }

  /** Lets go of what nobody reads any more. Not when the process ends: by then the workspace may not have been read. */
  close(): void {
    for (const pipe of this.#process.stdio) pipe?.destroy();
    for (const { reader } of this.#written) reader.destroy();
  }

  /** Hands over what bubblewrap reads before it starts anything. */
  #begin(): void {
    const { settings, mounts, secrets, command } = this.#request;
    const seccomp = hasSeccompFilter() ? SECCOMP_FD : undefined;
    const descriptors = { seccomp, info: INFO_FD, command: COMMAND_FD };
    const args = boxArguments(settings, mounts, secrets, descriptors);
    this.#pipe(ARGS_FD).end(args.map((arg) => `${arg}\0`).join(''));
    this.#pipe(SECCOMP_FD).end(seccomp === undefined ? '' : makeSeccompFilter());
    this.#pipe(COMMAND_FD).end(command);
    let info = '';
    this.#pipe(INFO_FD).on('data', (chunk: Buffer) => {
      info = `${info}${chunk}`.slice(0, MAX_LINE);
      const pid = /"child-pid":\s*(\d+)/.exec(info)?.[1];
      if (pid === undefined || this.#watch !== undefined) return;
      const limits = { ...settings, memoryBytes: this.#cgroup === undefined ? settings.memoryBytes : undefined };
      this.#watch = watchBox(Number(pid), limits, (excess) => this.#exceed(excess));
    });
  }

  /** What the filling failed with, which is not the box's doing. */
  async #fill(): Promise<unknown> {
    const pipe = this.#pipe(FILL_FD);
    try {
      for await (const chunk of this.#request.filling ?? []) {
        if (pipe.destroyed) return undefined;
        if (!pipe.write(chunk)) await drained(pipe);
      }
      pipe.end();
      return undefined;
    } catch (error) {
      this.end();
      return error;
    }
  }

  async #takeWorkspace(): Promise<string | undefined> {
    this.#endAfter(TAKING_MS);
    try {
      await this.#request.takeWorkspace(this.#result);
      return undefined;
    } catch (error) {
      if (error instanceof WorkspaceError) return error.message;
      throw error;
    }
  }

  #exceed(excess: Excess): void {
    if (this.#excess !== undefined) return;
    this.#excess = excess;
    this.#stop();
  }

  /** Asks the box to end the command and to hand the workspace out; ends it where it does not. */
  #stop(): void {
    this.#pipe(STOP_FD).end('enough\n');
    this.#after(GRACE_MS, () => this.end());
  }

  #endAfter(ms: number): void {
    this.#after(ms, () => this.end());
  }

  /** In place of what was to happen before. */
  #after(ms: number, act: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(act, ms);
  }

  #describeFailure(): BoxError {
    const said = this.#stderr.collect().text.trim().slice(-MAX_FOLDED_MESSAGE);
    return new BoxError(said === '' ? 'The box did not come up.' : `The box did not come up: ${said}`);
  }

  #pipe(fd: number): Duplex {
    const pipe = this.#process.stdio[fd];
    if (pipe === null || pipe === undefined) throw new BoxError('The box did not come up: it has no pipes.');
    // A box that ends closes its ends; what it has not read is lost with it.
    if (pipe.listenerCount('error') === 0) pipe.on('error', () => undefined);
    return pipe as Duplex;
  }
}

function drained(pipe: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      pipe.off('drain', done);
      pipe.off('close', done);
      resolve();
    };
    pipe.on('drain', done);
    pipe.on('close', done);
  });
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
    ...['/bin/bash', '--norc', '/box/supervise.sh', limitsOf(settings), filling === undefined ? 'empty' : 'filled'],
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
