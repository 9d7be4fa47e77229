/**
 * Server-sent events out of a handler. The kernel owns the socket: headers, keep-alives, the backlog limit. The source
 * owns the frames. A slow reader never grows memory: once its socket holds MAX_BACKLOG_BYTES the sink says so, and the
 * source catches the reader up from what is stored when the socket has drained.
 */
import type { ServerResponse } from 'node:http';
import { setTicker, type Timer } from '../clock/timers.ts';

export const KEEP_ALIVE_MS = 15_000;
export const MAX_BACKLOG_BYTES = 256 * 1024;

/** What a handler returns to answer with a stream. */
export class EventStream {
  readonly source: EventSource;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(source: EventSource, status = 200, headers: Readonly<Record<string, string>> = {}) {
    this.source = source;
    this.status = status;
    this.headers = headers;
  }
}

/**
 * Writes frames to the sink and resolves when the stream is over. `closed` fires when the reader goes away; the source
 * must then stop and resolve. A rejection is logged and ends the stream.
 */
export type EventSource = (sink: EventSink, closed: AbortSignal) => Promise<void>;

export interface EventSink {
  /** Sends whole frames (see `eventFrame`). False: the reader is behind, stop until `drained`. */
  write(frames: string): boolean;
  readonly behind: boolean;
  /** Resolves when the reader has caught up or gone. */
  drained(): Promise<void>;
}

/** One frame: `data` is written as it is, so it must not hold a line break (JSON never does). */
export function eventFrame(event: string | undefined, data: string, id?: number): string {
  return `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`;
}

const open = new Set<SocketSink>();
let keepAliveTimer: Timer | undefined;

/** Runs `stream` on a hijacked response. Resolves when it is over, whoever ended it. */
export async function serveEventStream(
  response: ServerResponse,
  stream: EventStream,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  response.writeHead(stream.status, {
    ...headers,
    ...stream.headers,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  });
  response.socket?.setNoDelay(true);
  response.flushHeaders();
  const sink = new SocketSink(response);
  open.add(sink);
  keepAliveTimer ??= setTicker(keepReadersAlive, KEEP_ALIVE_MS);
  try {
    await stream.source(sink, sink.closed);
  } finally {
    open.delete(sink);
    if (open.size === 0) {
      keepAliveTimer.cancel();
      keepAliveTimer = undefined;
    }
    if (!response.destroyed) response.end();
  }
}

/** Open streams, for metrics. */
export function countOpenStreams(): number {
  return open.size;
}

function keepReadersAlive(): void {
  for (const sink of open) sink.keepAlive();
}

class SocketSink implements EventSink {
  readonly #response: ServerResponse;
  readonly #abort = new AbortController();
  #aborted = false;
  behind = false;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.once('close', this.#onGone);
    response.on('error', this.#onGone);
  }

  readonly #onGone = (): void => {
    this.#aborted = true;
    this.#abort.abort();
  };

  get closed(): AbortSignal {
    return this.#abort.signal;
  }

  write(frames: string): boolean {
    if (this.#aborted) return false;
    // A chunk of no length would end the body.
    if (frames !== '') this.#send(frames);
    this.behind = this.#response.writableLength > MAX_BACKLOG_BYTES;
    return !this.behind;
  }

  /**
   * One chunk in one piece. ServerResponse.write makes three of it (length, frames, line end), which at thousands of
   * frames a second is a third of their cost. The response must have the socket to itself, its headers sent.
   */
  #send(frames: string): void {
    const { socket, chunkedEncoding } = this.#response as ServerResponse & { chunkedEncoding: boolean };
    if (socket === null || !chunkedEncoding) this.#response.write(frames);
    else socket.write(`${Buffer.byteLength(frames).toString(16)}\r\n${frames}\r\n`);
  }

  async drained(): Promise<void> {
    const { socket } = this.#response;
    if (!this.behind || this.#aborted || socket === null) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        socket.off('drain', done);
        this.#abort.signal.removeEventListener('abort', done);
        resolve();
      };
      socket.once('drain', done);
      this.#abort.signal.addEventListener('abort', done, { once: true });
    });
    this.behind = false;
  }

  keepAlive(): void {
    if (!this.behind && !this.#aborted) this.#send(': keep-alive\n\n');
  }
}
