/**
 * Starts child processes by way of a small process that does nothing else. `fork` copies the page tables of its caller, and
 * the caller then waits until the child runs its program: a server of 600 MB stood still for 10 to 30 ms each time, and on
 * a machine whose processors were taken for more than 100. The small process hands over the child's channel, so that what
 * is said on it takes no detour.
 *
 * There is one for the whole process, started with the first child. When it dies its children end, too, and the next child
 * has another. Linux alone has `fork` in this way; elsewhere children are started at once.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { FromSpawner, ToSpawner } from './spawner-protocol.ts';
import { type ProcessCommand, type ProcessEnd, startProcess } from './start-process.ts';
import type { ProgramCommand } from './start-program.ts';

export interface ChildEvents {
  readonly started: (channel: Socket) => void;
  /** Once, also where it did not start. What it said last may still be unread in the channel. */
  readonly ended: (end: ProcessEnd) => void;
}

export interface ChildHandle {
  /** Undefined until it has started. */
  readonly pid: number | undefined;
  /** Of the process that it is the child of. */
  readonly parentPid: number;
  kill(): void;
  /** Whether this process lives on until the child has ended. */
  hold(held: boolean): void;
}

/** `makeArgs` gets the process id of the parent that the child will have. */
export type MakeCommand = (parentPid: number) => ProcessCommand;

export function startChild(makeCommand: MakeCommand, events: ChildEvents): ChildHandle {
  if (process.platform !== 'linux') return startHere(makeCommand, events);
  return findSpawner().start(makeCommand, events);
}

export interface ProgramEvents extends ChildEvents {
  /** A piece of what it wrote where that is told. */
  readonly told: (text: string) => void;
}

export interface ProgramHandle {
  kill(): void;
  /** Closes what is held open for it. */
  release(): void;
}

/** On Linux alone. This process lives on until the program has ended, and the program ends with it where it asks for that. */
export function startProgram(command: ProgramCommand, events: ProgramEvents): ProgramHandle {
  return findSpawner().startProgram(command, events);
}

let spawner: Spawner | undefined;

function findSpawner(): Spawner {
  spawner ??= new Spawner(() => {
    spawner = undefined;
  });
  return spawner;
}

function startHere(makeCommand: MakeCommand, events: ChildEvents): ChildHandle {
  const { process: child, channel } = startProcess(makeCommand(process.pid), events.ended);
  events.started(channel);
  return {
    pid: child.pid,
    parentPid: process.pid,
    kill: () => void child.kill('SIGKILL'),
    hold(held) {
      // Standard error is a socket too, of which its type says nothing.
      for (const handle of [child, child.stderr]) {
        if (handle === null || !('ref' in handle && 'unref' in handle)) continue;
        if (held) handle.ref();
        else handle.unref();
      }
    },
  };
}

const PROGRAM = fileURLToPath(new URL('./spawner-program.ts', import.meta.url));
/** It has little to remember, and is the smaller for it. */
const FLAGS = ['--no-warnings', '--max-old-space-size=64', '--max-semi-space-size=1'];
const GONE: ProcessEnd = { code: null, signal: 'SIGKILL', output: 'the process that started it has ended' };

interface Entry {
  readonly events: ChildEvents & Partial<ProgramEvents>;
  pid: number | undefined;
}

class Spawner {
  readonly #process: ChildProcess;
  readonly #children = new Map<number, Entry>();
  readonly #held = new Set<number>();
  #nextId = 1;

  constructor(gone: () => void) {
    this.#process = fork(PROGRAM, [], {
      env: {},
      execArgv: FLAGS,
      // What it fails with is told where this process tells of its own.
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#process.on('message', (message: FromSpawner, channel: unknown) => this.#take(message, channel));
    const end = () => {
      gone();
      for (const [id, { events }] of this.#children) {
        this.hold(id, false);
        events.ended(GONE);
      }
      this.#children.clear();
    };
    // Sending to a process that has gone: its end is what counts. One that was never there has none.
    this.#process.on('error', () => {
      if (this.#process.pid === undefined) end();
    });
    this.#process.once('exit', end);
    this.#process.unref();
    this.#process.channel?.unref();
  }

  start(makeCommand: MakeCommand, events: ChildEvents): ChildHandle {
    const id = this.#nextId++;
    const parentPid = this.#process.pid ?? 0;
    const entry: Entry = { events, pid: undefined };
    this.#children.set(id, entry);
    this.#send({ kind: 'start', id, ...makeCommand(parentPid) });
    return {
      get pid() {
        return entry.pid;
      },
      parentPid,
      kill: () => this.#send({ kind: 'kill', id }),
      hold: (held) => this.hold(id, held),
    };
  }

  startProgram(command: ProgramCommand, events: ProgramEvents): ProgramHandle {
    const id = this.#nextId++;
    this.#children.set(id, { events, pid: undefined });
    this.hold(id, true);
    this.#send({ kind: 'start-program', id, ...command });
    return { kill: () => this.#send({ kind: 'kill', id }), release: () => this.#send({ kind: 'release', id }) };
  }

  hold(id: number, held: boolean): void {
    if (held && this.#children.has(id)) this.#held.add(id);
    else this.#held.delete(id);
    if (this.#held.size > 0) this.#process.channel?.ref();
    else this.#process.channel?.unref();
  }

  #send(message: ToSpawner): void {
    if (this.#process.connected) this.#process.send(message);
  }

  #take(message: FromSpawner, channel: unknown): void {
    const entry = this.#children.get(message.id);
    if (entry === undefined) {
      // Nobody else would close it, and without a listener an error of its would end this process.
      if (channel instanceof Socket) channel.on('error', () => {}).destroy();
      return;
    }
    if (message.kind === 'started') {
      entry.pid = message.pid;
      if (channel instanceof Socket) entry.events.started(channel);
      return;
    }
    if (message.kind === 'told') {
      entry.events.told?.(message.text);
      return;
    }
    this.#children.delete(message.id);
    this.hold(message.id, false);
    const { code, signal, output } = message;
    entry.events.ended({ code, signal, output });
  }
}
