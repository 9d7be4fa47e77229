/** A server that does nothing but answer: what the health probe measures here is the machine. A process of its own. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const server = createServer((_request, response) => response.end('{}'));
server.keepAliveTimeout = 600_000;
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.send?.({ url: `http://127.0.0.1:${port}/` });
});
process.once('disconnect', () => process.exit());
