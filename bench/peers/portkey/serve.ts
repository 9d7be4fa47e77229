/**
 * Portkey's gateway as its package starts it, but on loopback alone: it has no setting for the address.
 *
 *     node serve.ts PORT        with NODE_ENV=production, as in its container image: no console, no log of requests
 */
import { Server } from 'node:net';

const listen = Server.prototype.listen;

Server.prototype.listen = function listenOnLoopback(this: Server, port: number, _host: undefined, ready: () => void) {
  return listen.call(this, { port, host: '127.0.0.1' }, ready);
} as typeof listen;

process.argv.push(`--port=${process.argv[2]}`, '--headless');
await import('@portkey-ai/gateway/build/start-server.js');
