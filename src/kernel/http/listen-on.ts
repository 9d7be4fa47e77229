/**
 * Where a service listens. A name may stand for several addresses of the machine: `localhost` for one of IPv4 and one of IPv6.
 *
 * Node takes one new connection a turn of the event loop from each socket that listens. A busy server's turns take tens of milliseconds,
 * so that with one socket it would serve those who are connected in time, and leave whoever connects then waiting for half a minute. So
 * several sockets listen at each address, and the system shares the connections out among them: docs/decisions/0053-new-connections.md.
 */
import cluster from 'node:cluster';
import { lookup } from 'node:dns/promises';
import { createServer, type Server } from 'node:net';
import type { FastifyInstance } from 'fastify';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

type LookUpAll = (host: string) => Promise<readonly { readonly address: string }[]>;

const lookUpAll: LookUpAll = (host) => lookup(host, { all: true });

/** Connections that are taken in one turn of the event loop. */
const SOCKETS = 16;
/** Elsewhere the option is refused, or the newest socket gets every connection. Of several processes the first one shares out. */
const MAY_SHARE = ['linux', 'freebsd'].includes(process.platform) && !cluster.isWorker;

/**
 * Listens at every address of the host, and returns what ends that for all sockets but the first, which the service ends by itself. What
 * comes in at the others is handed to the server of the first, whose limits of connections hold for all. Fastify would give it a server
 * without any. Rejects where the first address cannot be listened on; one that the machine does not have, or where another program
 * listens, is left out. Whoever wants to know whether the port is free asks before (`holdPort`): processes of one user can share it.
 */
export async function listenOn(
  app: FastifyInstance,
  { host, port }: ListenAddress,
  lookUp: LookUpAll = lookUpAll,
): Promise<() => void> {
  const [first = { address: host }, ...others] = await lookUp(host);
  const further: Server[] = [];
  await app.listen({ host: first.address, port, ...sharing });
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('a service listens on a port');
  const open = async (at: string, count: number): Promise<void> => {
    for (let opened = 0; opened < count; opened += 1) {
      const server = createServer({ noDelay: true }, (socket) => app.server.emit('connection', socket));
      if (!(await isListening(server, at, address.port))) return;
      further.push(server);
    }
  };
  const sockets = MAY_SHARE ? SOCKETS : 1;
  await open(first.address, sockets - 1);
  for (const other of others) await open(other.address, sockets);
  return () => {
    for (const server of further) server.close();
  };
}

const sharing = MAY_SHARE ? { reusePort: true } : {};

function isListening(server: Server, host: string, port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const isLeftOut = 'code' in error && ['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EADDRINUSE'].includes(String(error.code));
      if (isLeftOut) resolve(false);
      else reject(error);
    });
    server.listen({ host, port, ...sharing }, () => resolve(true));
  });
}
