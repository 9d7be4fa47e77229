/**
 * One command in one box: a process of bubblewrap, which ends with this process whatever happens, and with it everything in
 * the box. See supervise.sh for what runs inside.
 */
import type { Socket } from 'node:net';
import { setTimer, type Timer } from '../../kernel/clock/timers.ts';
import { BoxProcess } from './box-process.ts';
import type { BoxRequest } from './box-request.ts';
import type { BoxCgroup } from './cgroup/box-cgroup.ts';
import { type CollectedText, OutputCollector } from './mask-secrets.ts';
import { type OutputPipe, openOutputPipes } from './output-pipes.ts';
import { ByteReader, WorkspaceError } from './tar-stream.ts';
import { type Excess, OWN_PROCESSES, watchBox } from './watch-box.ts';

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

/** For what is not the command's own work. */
const FILLING_MS = 60_000;
const TAKING_MS = 60_000;
/** From when a box is told that it is enough until it is ended from outside, with its workspace. */
const GRACE_MS = 3_000;
const MAX_LINE = 200;
/** As a shell has it: ended by SIGKILL. */
const KILLED = 137;
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
  readonly #request: BoxRequest;
  readonly #cgroup: BoxCgroup | undefined;
  readonly #process: BoxProcess;
  readonly #stdout: OutputCollector;
  readonly #stderr: OutputCollector;
  #timer: Timer | undefined;
  #watch: { stop(): void } | undefined;
  #excess: Excess | undefined;
  #timedOut = false;
  #isOver = false;
  #isFilled = false;
  /** Of its process 1, as this machine counts. */
  #pid: number | undefined;

  constructor(
    request: BoxRequest,
    cgroup: BoxCgroup | undefined,
    written: readonly [stdout: OutputPipe, stderr: OutputPipe],
  ) {
    this.#request = request;
    this.#cgroup = cgroup;
    const { settings, secrets } = request;
    const [stdout, stderr] = written;
    this.#process = new BoxProcess(request, cgroup, written, (pid) => {
      this.#pid = pid;
      this.#lookAfter();
    });
    this.#stdout = new OutputCollector(stdout.reader, settings.streamBytes, secrets.values());
    this.#stderr = new OutputCollector(stderr.reader, settings.streamBytes, secrets.values());
  }

  get ended(): Promise<void> {
    return this.#process.ended;
  }

  async run(): Promise<BoxOutcome> {
    this.#endAfter(FILLING_MS);
    const channel = await this.#process.channel;
    if (channel === undefined) {
      await this.ended;
      throw this.#describeFailure();
    }
    const result = new ByteReader(readWhileThere(channel));
    const filled = this.#fill(channel);
    const began = await result.readLine(MAX_LINE);
    if (began !== 'filled') {
      this.end();
      // What it was to be filled with may never come.
      const problem = await Promise.race([filled, this.ended]);
      await this.ended;
      throw problem ?? this.#describeFailure();
    }
    this.#isFilled = true;
    this.#lookAfter();
    const startedAt = performance.now();
    const { timeoutMs } = this.#request;
    this.#after(timeoutMs, () => {
      this.#timedOut = true;
      this.#stop();
    });
    const [line] = await Promise.all([result.readLine(MAX_LINE), this.#request.started()]);
    const seconds = (performance.now() - startedAt) / 1_000;
    const status = /^exit (\d{1,3})$/.exec(line)?.[1];
    const [workspaceProblem] = await Promise.all([
      status === undefined ? 'the box was ended with it' : this.#takeWorkspace(result),
      this.#request.finished(seconds),
    ]);
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
    this.#isOver = true;
    this.#timer?.cancel();
    this.#watch?.stop();
    this.#process.kill();
  }

  close(): void {
    this.#process.close();
  }

  /** Not before it is filled: until it has a root of its own, what is seen through it is the machine's, and too much. */
  #lookAfter(): void {
    const pid = this.#pid;
    if (this.#isOver || !this.#isFilled || pid === undefined) return;
    const { settings } = this.#request;
    const limits = { ...settings, memoryBytes: this.#cgroup === undefined ? settings.memoryBytes : undefined };
    this.#watch = watchBox(pid, limits, (excess) => this.#exceed(excess));
  }

  /** What the filling failed with, which is not the box's doing. */
  async #fill(pipe: Socket): Promise<unknown> {
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

  async #takeWorkspace(result: ByteReader): Promise<string | undefined> {
    this.#endAfter(TAKING_MS);
    try {
      await this.#request.takeWorkspace(result);
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
    this.#process.stop();
    this.#after(GRACE_MS, () => this.end());
  }

  #endAfter(ms: number): void {
    this.#after(ms, () => this.end());
  }

  /** In place of what was to happen before. */
  #after(ms: number, act: () => void): void {
    this.#timer?.cancel();
    this.#timer = setTimer(act, ms, { keepsProcess: true });
  }

  #describeFailure(): BoxError {
    const said = this.#stderr.collect().text.trim().slice(-MAX_FOLDED_MESSAGE) || this.#process.failure;
    return new BoxError(said === '' ? 'The box did not come up.' : `The box did not come up: ${said}`);
  }
}

/** A box that is ended with something left to read resets the connection: that, too, is its end. */
async function* readWhileThere(channel: Socket): AsyncGenerator<Buffer> {
  try {
    yield* channel;
  } catch {
    // What came before has been read.
  }
}

function drained(pipe: Socket): Promise<void> {
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
