/**
 * How many requests may wait on one connection for the answers before them. All that lie in one read are taken up in one turn of
 * the event loop, a thousand and a half of them: nobody else would be served meanwhile. Clients that pipeline send a handful.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export const MAX_WAITING_REQUESTS = 64;

/** Puts itself before the server's own listener; `onCutOff` hears of each connection that is ended. Call it once. */
export function limitPipelining(server: Server, onCutOff: () => void): void {
  const serve = server.listeners('request');
  const waiting = new WeakMap<Socket, number>();

  function take(request: IncomingMessage, response: ServerResponse): void {
    // Only an answer that waits for others has no socket yet.
    if (response.socket === null && !mayWait(request.socket, response)) return;
    for (const listener of serve) listener.call(server, request, response);
  }

  function mayWait(socket: Socket, response: ServerResponse): boolean {
    if (socket.destroyed) return false;
    const count = (waiting.get(socket) ?? 0) + 1;
    if (count > MAX_WAITING_REQUESTS) {
      onCutOff();
      socket.destroy();
      return false;
    }
    waiting.set(socket, count);
    response.once('close', () => waiting.set(socket, (waiting.get(socket) ?? 1) - 1));
    return true;
  }

  server.removeAllListeners('request');
  server.on('request', take);
}
