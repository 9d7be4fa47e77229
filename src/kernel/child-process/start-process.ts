/** One child process as the operating system sees it: started, told what it is worth, and heard until it ends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { constants, setPriority } from 'node:os';
import { CHANNEL_FD } from './protocol.ts';

export interface ProcessCommand {
  /** Of Node's command line. */
  readonly args: readonly string[];
  /** Whether it leaves the processors to others that want them. */
  readonly givesWay: boolean;
}

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The end of what it wrote to standard error. */
  readonly output: string;
}

export interface StartedProcess {
  readonly process: ChildProcess;
  readonly channel: Socket;
}

/** Of standard error, its end: V8 says there why it gave up. */
const OUTPUT_CHARACTERS = 4_096;

/**
 * Standard input and output are nothing, standard error and the channel are pipes. `ended` is called once, when the process
 * and its standard error have ended. Throws what kept it from starting.
 */
export function startProcess({ args, givesWay }: ProcessCommand, ended: (end: ProcessEnd) => void): StartedProcess {
  const child = spawn(process.execPath, args, {
    // No secret of this process's own environment is the child's business.
    env: {},
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    windowsHide: true,
  });
  const { pid, stderr } = child;
  const channel = child.stdio[CHANNEL_FD];
  // Where it did not start, 'error' says why, later.
  child.once('error', (error) => {
    if (pid === undefined) ended({ code: null, signal: null, output: String(error) });
  });
  if (!(channel instanceof Socket) || stderr === null) throw new Error('a child has a pipe to its parent');
  let output = '';
  stderr.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-OUTPUT_CHARACTERS);
  });
  // Not 'close' of the process, which waits for a channel that may be in other hands.
  const over = Promise.all([
    new Promise<void>((resolve) => stderr.once('close', resolve)),
    new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
      child.once('exit', (code, signal) => resolve([code, signal])),
    ),
  ]);
  void over.then(([, [code, signal]]) => ended({ code, signal, output }));
  if (pid !== undefined && givesWay) lowerPriority(pid);
  if (pid !== undefined && process.platform === 'linux') offerToKernel(pid);
  return { process: child, channel };
}

/** At once, while it has one thread: on Linux every thread has a priority of its own, and new ones that of their maker. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It is gone already.
  }
}

/** When the machine runs out of memory, this process goes before any other; and no core of it is written to the disk. */
function offerToKernel(pid: number): void {
  // A child that is gone already needs neither.
  writeFile(`/proc/${pid}/oom_score_adj`, '1000').catch(() => undefined);
  writeFile(`/proc/${pid}/coredump_filter`, '0').catch(() => undefined);
}
