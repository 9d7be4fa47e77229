/**
 * A connection that is closed upon bytes which nobody has read is reset, and a sender that writes all of its body before it reads loses the
 * answer. So after a refusal that closes the connection the rest is read and dropped, up to a size and for a time, and the connection is
 * closed then (RFC 9112, section 9.6).
 */
import type { IncomingMessage } from 'node:http';
import { setTimer } from '../clock/timers.ts';

export interface LingerLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

const USUAL: LingerLimits = { maxBytes: 64 * 1024 * 1024, timeoutMs: 10_000 };

/** Call it before the answer to the request is sent. Does nothing where the body has been read. */
export function lingerBeforeClose(request: IncomingMessage, { maxBytes, timeoutMs }: LingerLimits = USUAL): void {
  if (request.complete || request.destroyed) return;
  const { socket } = request;
  let droppedBytes = 0;
  // What Node calls once the answer has been written.
  socket.destroySoon = () => {
    // The sender reads that nothing more follows.
    socket.end();
    if (request.complete || droppedBytes > maxBytes) socket.destroy();
    else {
      request.once('end', () => socket.destroy());
      const timer = setTimer(() => socket.destroy(), timeoutMs);
      socket.once('close', () => timer.cancel());
    }
  };
  request.on('data', (chunk: Buffer) => {
    droppedBytes += chunk.byteLength;
    if (droppedBytes > maxBytes) socket.destroy();
  });
  request.on('error', () => undefined);
  request.resume();
}
