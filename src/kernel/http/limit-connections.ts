/**
 * How many connections are open at once: of one address, and in all. One too many is told so and closed before anything of it is
 * read. A trusted proxy stands for many callers, so only the total holds for it.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { TrustProxy } from '../config/parse-value.ts';
import { ApiError } from './errors.ts';
import { addressKey } from './rate-limit.ts';
import { createPeerCheck } from './trusted-peer.ts';

export interface ConnectionLimits {
  /** Of one address; IPv6 by /64. */
  readonly perAddress: number;
  readonly total: number;
}

export interface LimitOptions extends ConnectionLimits {
  readonly trustProxy: TrustProxy;
  /** Answers and closes; nothing of the connection has been read. */
  readonly refuse: (socket: Socket, refusal: ApiError, limit: 'address' | 'total', address: string) => void;
}

/** Until then a caller that has closed some of its connections is let in again. */
const RETRY_AFTER_SECONDS = 5;

/** Puts itself between the server's port and its parser. Call it once, before the server listens. Tells how many are open. */
export function limitConnections(server: Server, options: LimitOptions): () => number {
  const { perAddress, total, refuse } = options;
  const isProxy = createPeerCheck(options.trustProxy);
  const serve = server.listeners('connection');
  const open = new Map<string, number>();
  let openInAll = 0;

  function accept(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    const key = isProxy(address) ? undefined : addressKey(address);
    const known = key === undefined ? 0 : (open.get(key) ?? 0);
    if (openInAll >= total) {
      refuse(socket, tooMany(`${total} connections`), 'total', address);
      return;
    }
    if (known >= perAddress) {
      refuse(socket, tooMany(`${perAddress} connections of one address`), 'address', address);
      return;
    }
    openInAll += 1;
    if (key !== undefined) open.set(key, known + 1);
    socket.once('close', () => {
      openInAll -= 1;
      if (key === undefined) return;
      const left = (open.get(key) ?? 1) - 1;
      if (left === 0) open.delete(key);
      else open.set(key, left);
    });
    for (const listener of serve) listener.call(server, socket);
  }

  server.removeAllListeners('connection');
  server.on('connection', accept);
  return () => openInAll;
}

function tooMany(limit: string): ApiError {
  return new ApiError('service_overloaded', {
    message: `${limit} are open, which is the limit. Close some, or retry after ${RETRY_AFTER_SECONDS} s.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
