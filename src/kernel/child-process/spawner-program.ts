/** The program of the small process that starts the others, see spawner.ts. It ends when its parent does. */
import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import type { FromSpawner, ToSpawner } from './spawner-protocol.ts';
import { type ProcessEnd, startProcess } from './start-process.ts';
import { startProgram } from './start-program.ts';

const LOOK_FOR_PARENT_MS = 1_000;

interface Started {
  readonly process: ChildProcess;
  readonly channel: Socket;
  readonly release?: () => void;
}

const children = new Map<number, Started>();

function tell(message: FromSpawner): void {
  // A parent that is gone wants to know nothing.
  if (process.connected) process.send?.(message, undefined, {}, () => undefined);
}

function start(id: number, startOne: (ended: (end: ProcessEnd) => void) => Started): void {
  try {
    const started = startOne((end) => {
      children.delete(id);
      tell({ kind: 'ended', id, ...end });
    });
    const { process: child, channel } = started;
    children.set(id, started);
    const message: FromSpawner = { kind: 'started', id, pid: child.pid ?? 0 };
    stopReading(channel);
    // The channel is the other side's from here on. One that is not there any more needs none.
    channel.on('error', () => undefined);
    if (child.pid !== undefined && process.connected) process.send?.(message, channel, {}, () => undefined);
  } catch (error) {
    tell({ kind: 'ended', id, code: null, signal: null, output: String(error) });
  }
}

/**
 * A stream reads ahead from its beginning on, and goes on until the other side has said that it has the channel: where that
 * one is busy, what the child says first would be read here and lost. Node has no public name for this.
 */
function stopReading(channel: Socket): void {
  const handle: unknown = Reflect.get(channel, '_handle');
  if (!isReading(handle)) throw new Error('this version of Node has no way to leave a stream unread');
  handle.reading = false;
  handle.readStop();
}

function isReading(handle: unknown): handle is { reading: boolean; readStop(): void } {
  return typeof handle === 'object' && handle !== null && 'readStop' in handle;
}

process.on('message', (message: ToSpawner) => {
  const { id } = message;
  switch (message.kind) {
    case 'start':
      return start(id, (ended) => startProcess(message, ended));
    case 'start-program':
      return start(id, (ended) =>
        startProgram(message, {
          told: (text) => tell({ kind: 'told', id, text }),
          ended: (code, signal, output) => ended({ code, signal, output }),
        }),
      );
    case 'release':
      return children.get(id)?.release?.();
    case 'kill':
      children.get(id)?.process.kill('SIGKILL');
  }
});
// A terminal and a supervisor send these to everybody; when this process ends is its parent's business.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
// The children see that their parent is gone.
process.once('disconnect', () => process.exit(0));
// Of a parent that ended while this program was being loaded Node tells nothing: it waits for a message that would follow.
const looks = setInterval(() => {
  if (!process.connected) process.exit(0);
}, LOOK_FOR_PARENT_MS);
// With that message Node begins to tell.
process.once('message', () => clearInterval(looks));
