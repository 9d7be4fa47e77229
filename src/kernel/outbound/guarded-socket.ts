import { connect, type Socket } from 'node:net';
import { setTimer } from '../clock/timers.ts';
import type { AddressGuard, OutboundPolicy } from './address-guard.ts';
import { answerWith } from './answer-with.ts';

export interface SocketRequest {
  readonly hostname: string;
  readonly port: number;
  readonly policy: OutboundPolicy;
  readonly timeoutMs: number;
}

/** Connects to one of the very addresses that were checked, as the connector of HTTP calls does. */
export async function openGuardedSocket(
  guard: AddressGuard,
  { hostname, port, policy, timeoutMs }: SocketRequest,
): Promise<Socket> {
  const lookup = answerWith(await guard.resolve(hostname, port, policy));
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect({ host: hostname, port, lookup });
  const timer = setTimer(() => socket.destroy(new Error(`no connection within ${timeoutMs} ms`)), timeoutMs);
  socket.once('error', reject).once('connect', () => {
    socket.off('error', reject);
    resolve(socket);
  });
  return promise.finally(() => timer.cancel());
}
