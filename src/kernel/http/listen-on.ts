/** Where a service listens. A name may stand for several addresses of the machine: `localhost` for one of IPv4 and one of IPv6. */
import { lookup } from 'node:dns/promises';
import { createServer, type Server } from 'node:net';
import type { FastifyInstance } from 'fastify';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

type LookUpAll = (host: string) => Promise<readonly { readonly address: string }[]>;

const lookUpAll: LookUpAll = (host) => lookup(host, { all: true });

/**
 * Listens at every address of the host, and returns what ends that for all but the first, which the service ends by itself. What
 * comes in at the second address is handed to the
 * server of the first, whose limits of connections hold for all. Fastify would give it a server without any. Rejects where the
 * first cannot be listened on; an address that the machine does not have, or where another program listens, is left out.
 */
export async function listenOn(
  app: FastifyInstance,
  { host, port }: ListenAddress,
  lookUp: LookUpAll = lookUpAll,
): Promise<() => void> {
  const [first = { address: host }, ...others] = await lookUp(host);
  const further: Server[] = [];
  await app.listen({ host: first.address, port });
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('a service listens on a port');
  for (const { address: other } of others) {
    const server = createServer({ noDelay: true }, (socket) => app.server.emit('connection', socket));
    if (await isListening(server, other, address.port)) further.push(server);
  }
  return () => {
    for (const server of further) server.close();
  };
}

function isListening(server: Server, host: string, port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const isLeftOut = 'code' in error && ['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EADDRINUSE'].includes(String(error.code));
      if (isLeftOut) resolve(false);
      else reject(error);
    });
    server.listen({ host, port }, () => resolve(true));
  });
}
