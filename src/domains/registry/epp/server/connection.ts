/** One connection: frames in, answers out, one after the other; a connection that stalls is closed. */
import { once } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { setTimer, sleep, type Timer } from '../../../../kernel/clock/timers.ts';
import { encodeFrame, FrameError, FrameReader } from '../frames.ts';
import { EppSession, type SessionOptions } from './session.ts';

export interface ConnectionOptions extends SessionOptions {
  readonly limits: () => {
    readonly frameTimeoutMs: number;
    readonly idleTimeoutMs: number;
    readonly loginTimeoutMs: number;
  };
}

/** Resolves when the connection is over, however it ended. */
export async function serveConnection(socket: TLSSocket, options: ConnectionOptions): Promise<void> {
  const { logger, limits } = options;
  const session = new EppSession(options);
  const closed = new AbortController();
  socket.once('close', () => closed.abort());
  const deadline = new Deadline((reason) => {
    logger.debug({ reason }, 'an EPP connection is cut');
    socket.destroy();
  });
  try {
    deadline.set(limits().loginTimeoutMs, 'no login in time');
    await send(socket, session.greeting());
    const reader = new FrameReader();
    // Reading stops while a command runs: a client that sends faster than it is answered waits.
    for await (const piece of socket.iterator({ destroyOnReturn: false })) {
      for (const frame of reader.push(piece)) {
        if (session.isLoggedIn) deadline.clear();
        const answer = await session.answer(frame);
        if (answer === undefined) continue;
        const { xml, ends, delivery } = answer;
        if (delivery?.kind === 'cut') return void socket.destroy();
        if (delivery?.kind === 'slow') await sleep(delivery.delayMs, closed.signal);
        await send(socket, delivery?.kind === 'altered' ? delivery.alter(xml) : xml);
        if (ends) {
          session.close();
          return await hangUp(socket, limits().frameTimeoutMs);
        }
      }
      if (!session.isLoggedIn) deadline.keep(limits().loginTimeoutMs, 'no login in time');
      else if (reader.isPartial) deadline.keep(limits().frameTimeoutMs, 'a frame was not finished in time');
      else deadline.set(limits().idleTimeoutMs, 'nothing was sent for long');
    }
  } catch (error) {
    if (error instanceof FrameError) logger.info({ err: error }, 'an EPP connection sent no frame');
    else logger.debug({ err: error }, 'an EPP connection broke');
    socket.destroy();
  } finally {
    deadline.clear();
    session.close();
  }
}

/** Resolves once it is written, so that a client that does not read gets no further answers. */
function send(socket: TLSSocket, xml: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.write(encodeFrame(xml), (error) => (error ? reject(error) : resolve()));
  });
}

/** Lets the client read the last answer: closing at once, with bytes of it unread, would discard the answer. */
async function hangUp(socket: TLSSocket, timeoutMs: number): Promise<void> {
  const timer = setTimer(() => socket.destroy(), timeoutMs);
  socket.resume();
  socket.end();
  await once(socket, 'close').finally(() => timer.cancel());
}

/** One timer at a time. */
class Deadline {
  readonly #expire: (reason: string) => void;
  #timer: Timer | undefined;
  #reason = '';

  constructor(expire: (reason: string) => void) {
    this.#expire = expire;
  }

  /** Starts anew. */
  set(ms: number, reason: string): void {
    this.clear();
    this.#reason = reason;
    this.#timer = setTimer(() => this.#expire(reason), ms);
  }

  /** Keeps a running timer of the same reason, so that slow bytes do not postpone the timeout. */
  keep(ms: number, reason: string): void {
    if (this.#timer === undefined || this.#reason !== reason) this.set(ms, reason);
  }

  clear(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
