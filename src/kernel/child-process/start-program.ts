/** One process of any program, with what each of its descriptors is to be. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { Socket } from 'node:net';

export type Descriptor =
  /** /dev/null. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'file'; readonly path: string; readonly mode: 'r' | 'w' }
  /** What the program reads there, up to the end. */
  | { readonly kind: 'text'; readonly text: string }
  /** A socket, whose other side `started` brings. One of them has to be. */
  | { readonly kind: 'channel' }
  /** Nothing is to be read there until it is released, then the end. */
  | { readonly kind: 'held' }
  /** What the program writes there is told. */
  | { readonly kind: 'told' };

export interface ProgramCommand {
  readonly program: string;
  readonly args: readonly string[];
  /** By their number. */
  readonly descriptors: readonly Descriptor[];
}

export interface StartedProgram {
  readonly process: ChildProcess;
  readonly channel: Socket;
  release(): void;
}

/** It has no environment, and `/` as its folder. Throws what kept it from being tried; `ended` is called once, where this does not throw. */
export function startProgram(
  { program, args, descriptors }: ProgramCommand,
  events: { told(text: string): void; ended(code: number | null, signal: NodeJS.Signals | null, output: string): void },
): StartedProgram {
  const opened: number[] = [];
  try {
    const stdio = descriptors.map((descriptor) => {
      if (descriptor.kind !== 'file' && descriptor.kind !== 'nothing') return 'pipe';
      // 'ignore' would leave those above 2 closed.
      const fd =
        descriptor.kind === 'nothing' ? openSync('/dev/null', 'r+') : openSync(descriptor.path, descriptor.mode);
      opened.push(fd);
      return fd;
    });
    const child = spawn(program, args, { env: {}, cwd: '/', stdio });
    child.once('error', (error) => {
      if (child.pid === undefined) events.ended(null, null, String(error));
    });
    child.once('exit', (code, signal) => events.ended(code, signal, ''));
    const sockets = descriptors.map((_, fd) => child.stdio[fd]);
    const held: Socket[] = [];
    let channel: Socket | undefined;
    for (const [fd, descriptor] of descriptors.entries()) {
      const socket = sockets[fd];
      if (!(socket instanceof Socket)) continue;
      // A program that is gone reads nothing more: its end is what counts.
      socket.on('error', () => undefined);
      if (descriptor.kind === 'text') socket.end(descriptor.text);
      if (descriptor.kind === 'held') held.push(socket);
      if (descriptor.kind === 'told') socket.setEncoding('utf8').on('data', (text: string) => events.told(text));
      if (descriptor.kind === 'channel') channel = socket;
    }
    if (channel === undefined) throw new Error(`${program} has no channel`);
    return {
      process: child,
      channel,
      release() {
        for (const socket of held) socket.destroy();
      },
    };
  } finally {
    for (const fd of opened) closeSync(fd);
  }
}
