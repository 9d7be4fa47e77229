/** A proxy on loopback that adds headers, for programs which cannot be told to send any. */
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

export async function startHeaderProxy(target: string, headers: Readonly<Record<string, string>>) {
  const { hostname, port } = new URL(target);
  const server = createServer((from, to) => {
    const options = { hostname, port, path: from.url, method: from.method, headers: { ...from.headers, ...headers } };
    const passed = send(options, (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(to);
    });
    passed.once('error', () => to.destroy());
    to.once('close', () => passed.destroy());
    from.pipe(passed);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
