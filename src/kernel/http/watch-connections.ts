/**
 * Connections that stall. Node ends those whose headers do not come, and those that are idle between requests; what it does not
 * see is a body that drips, an answer that nobody reads, and a body that goes on when its request has long been answered.
 *
 *   body too slow ─▶ 408, or, where an answer has begun, cut off
 *   answer waits to be read, and is not ─▶ cut off
 *   body goes on after the answer ─▶ cut off
 *
 * One timer looks at all connections while there are any, at counters that the sockets keep anyway. A request costs one look into a map.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { createPausableTicker, elapsedMs } from '../clock/timers.ts';
import { ApiError } from './errors.ts';

/** How long a caller may stall. Everything else follows from it: see `deadlinesFor`. */
const DEFAULT_STALL_MS = 30_000;
/** Of a body that is sent or an answer that is read, within each stall time: less is as good as nothing. */
const MIN_BYTES_PER_SECOND = 1_000;
/** Of a whole body: what it may take in all follows from its size. A phone on a bad network sends 10,000. */
const MIN_AVERAGE_BYTES_PER_SECOND = 4_000;
/** A new body may take twice the stall time before its average counts. */
const AVERAGE_COUNTS_AFTER_STALLS = 2;
/** Readers catch up more slowly than senders stall: a sleeping tab, a download that is held. */
const STALLS_OF_READERS = 2;
const MAX_LINGER_MS = 10_000;
const SWEEPS_A_STALL = 6;
const MAX_SWEEP_MS = 5_000;
/** What one sweep may count: longer than that this process did not run, or was held up, and could not have seen progress. */
const SWEEPS_COUNTED_AT_ONCE = 2;
/** Longer than proxies keep idle connections, so that they never send into one that closes. */
const KEEP_ALIVE_MS = 72_000;

export interface Deadlines {
  /** From a connection's first moment, or a request's first byte, to the end of its headers. */
  readonly headersMs: number;
  /** In which a body must bring, and an answer must lose, so many bytes. */
  readonly bodyMs: number;
  readonly readerMs: number;
  /** How long a body may go on after its answer. */
  readonly lingerMs: number;
  readonly keepAliveMs: number;
  /** How often connections are looked at. */
  readonly sweepMs: number;
}

/** All deadlines, from how long a caller may stall. */
export function deadlinesFor(stallMs: number = DEFAULT_STALL_MS): Deadlines {
  return {
    headersMs: stallMs,
    bodyMs: stallMs,
    readerMs: STALLS_OF_READERS * stallMs,
    lingerMs: Math.min(MAX_LINGER_MS, stallMs),
    keepAliveMs: KEEP_ALIVE_MS,
    sweepMs: Math.min(MAX_SWEEP_MS, Math.ceil(stallMs / SWEEPS_A_STALL)),
  };
}

/** Why a connection was ended. */
export type CloseReason = 'slow_sender' | 'slow_reader' | 'lingering';

export interface ConnectionWatch {
  start(): void;
  stop(): void;
  /** Call it with every request, before anything of its body is read. */
  watch(request: IncomingMessage, response: ServerResponse): void;
}

/** A counter when it was last read for a window, and the moments since when. */
interface Progress {
  readonly startBytes: number;
  /** Moves on while the other side is not to blame. */
  startMs: number;
  bytes: number;
  sinceMs: number;
}

interface Watched {
  /** Until its body has come, and its answer gone. */
  request: IncomingMessage | undefined;
  response: ServerResponse | undefined;
  body: Progress | undefined;
  /** While there is something to be read. */
  answer: Progress | undefined;
  answeredAtMs: number | undefined;
}

/** `onClosed` hears of each connection that is ended, before it is. */
export function watchConnections(deadlines: Deadlines, onClosed: (reason: CloseReason) => void): ConnectionWatch {
  const connections = new Map<Socket, Watched>();
  let isWatching = false;
  let sweptAtMs = elapsedMs();
  /** Goes on only while this process runs: callers are not to blame for the rest. */
  let countedMs = 0;

  function cutOff(socket: Socket, reason: CloseReason): void {
    onClosed(reason);
    socket.destroy();
  }

  function refuseBody(socket: Socket, request: IncomingMessage, response: ServerResponse): void {
    // Whoever reads the body has it fail, and tells so as its operation tells errors.
    onClosed('slow_sender');
    if (response.headersSent || request.listenerCount('error') === 0) socket.destroy();
    else request.emit('error', tooSlow(deadlines.bodyMs));
  }

  function checkBody(socket: Socket, watched: Watched, nowMs: number): void {
    const { request, response } = watched;
    if (request === undefined || response === undefined) return;
    if (request.complete) {
      watched.request = undefined;
      watched.response = undefined;
      return;
    }
    if (response.writableEnded) {
      watched.answeredAtMs ??= nowMs;
      if (nowMs - watched.answeredAtMs >= deadlines.lingerMs) cutOff(socket, 'lingering');
      return;
    }
    watched.body ??= beginProgress(socket.bytesRead, nowMs);
    const { body } = watched;
    // What has come and is not read yet is held back by ourselves: by a store that is slow, or a check that is not through.
    if (request.readableLength > 0 || request.isPaused()) {
      body.startMs += nowMs - body.sinceMs;
      body.bytes = socket.bytesRead;
      body.sinceMs = nowMs;
      return;
    }
    const averagedMs = nowMs - body.startMs;
    const isSlowInAll =
      averagedMs > AVERAGE_COUNTS_AFTER_STALLS * deadlines.bodyMs &&
      isBelow(socket.bytesRead - body.startBytes, averagedMs, MIN_AVERAGE_BYTES_PER_SECOND);
    if (isSlowInAll || hasStalled(body, socket.bytesRead, deadlines.bodyMs, nowMs)) {
      refuseBody(socket, request, response);
    }
  }

  function checkAnswer(socket: Socket, watched: Watched, nowMs: number): void {
    if (socket.writableLength === 0) {
      watched.answer = undefined;
      return;
    }
    const sent = bytesTakenFrom(socket);
    watched.answer ??= beginProgress(sent, nowMs);
    if (hasStalled(watched.answer, sent, deadlines.readerMs, nowMs)) cutOff(socket, 'slow_reader');
  }

  function sweep(): void {
    const nowMs = elapsedMs();
    countedMs += Math.min(nowMs - sweptAtMs, SWEEPS_COUNTED_AT_ONCE * deadlines.sweepMs);
    sweptAtMs = nowMs;
    for (const [socket, watched] of connections) {
      if (socket.destroyed) continue;
      checkAnswer(socket, watched, countedMs);
      if (!socket.destroyed) checkBody(socket, watched, countedMs);
    }
  }

  const sweeps = createPausableTicker(sweep, deadlines.sweepMs);

  function resume(): void {
    sweptAtMs = elapsedMs();
    sweeps.resume();
  }

  return {
    start() {
      isWatching = true;
      if (connections.size > 0) resume();
    },
    stop() {
      isWatching = false;
      sweeps.pause();
    },
    watch(request, response) {
      const { socket } = request;
      const known = connections.get(socket);
      if (known !== undefined) {
        known.request = request;
        known.response = response;
        known.body = undefined;
        known.answeredAtMs = undefined;
        return;
      }
      // Requests that are injected have none.
      if (!(socket instanceof Socket) || socket.destroyed) return;
      connections.set(socket, { request, response, body: undefined, answer: undefined, answeredAtMs: undefined });
      if (connections.size === 1 && isWatching) resume();
      socket.once('close', () => {
        connections.delete(socket);
        if (connections.size === 0) sweeps.pause();
      });
    },
  };
}

function beginProgress(bytes: number, nowMs: number): Progress {
  return { startBytes: bytes, startMs: nowMs, bytes, sinceMs: nowMs };
}

/** Whether a window has passed in which too little moved. One in which enough did begins anew. */
function hasStalled(progress: Progress, bytes: number, windowMs: number, nowMs: number): boolean {
  const passedMs = nowMs - progress.sinceMs;
  if (passedMs < windowMs) return false;
  if (isBelow(bytes - progress.bytes, passedMs, MIN_BYTES_PER_SECOND)) return true;
  progress.bytes = bytes;
  progress.sinceMs = nowMs;
  return false;
}

function isBelow(bytes: number, ms: number, bytesPerSecond: number): boolean {
  return bytes < (ms / 1000) * bytesPerSecond;
}

/**
 * What the network has taken of a socket's writes. `bytesWritten` counts a write when it begins, however long it takes, so
 * what libuv still holds is taken off: the figure by which Node's own socket timeout knows that a write goes on.
 */
function bytesTakenFrom(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: { bytesWritten: number; writeQueueSize: number } | null };
  return handle ? handle.bytesWritten - handle.writeQueueSize : socket.bytesWritten;
}

function tooSlow(stallMs: number): ApiError {
  const seconds = Math.max(1, Math.round(stallMs / 1000));
  return new ApiError('invalid_request', {
    status: 408,
    message:
      `The body came too slowly: fewer than ${MIN_BYTES_PER_SECOND} bytes a second for ${seconds} s, or than ` +
      `${MIN_AVERAGE_BYTES_PER_SECOND} on average. Send it again on a better connection.`,
    headers: { connection: 'close' },
  });
}
