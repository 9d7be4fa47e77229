/** A proxy on loopback that cuts the connections of streams, as networks do: in the middle of a frame, or before the answer. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface CuttingProxy {
  readonly url: string;
  /** How many frames of text each of the next streams lets through before it is cut; 0: not even the answer's head. */
  cutNext(frames: readonly number[]): void;
  /** Streams that are still to be cut. */
  readonly left: number;
  close(): Promise<void>;
}

const STREAM_HEAD = /^HTTP\/1\.1 200 [\s\S]*?\r\ncontent-type: text\/event-stream/;
/** Some bytes of the frame that is cut go through. */
const FRAGMENT_BYTES = 18;

export async function startCuttingProxy(target: string, textEvent: string): Promise<CuttingProxy> {
  let cuts: readonly number[] = [];
  const takeCut = () => {
    const [next, ...rest] = cuts;
    cuts = rest;
    return next;
  };
  const clients = new Set<Socket>();
  const proxy = createServer((client) => {
    clients.add(client);
    client.once('close', () => clients.delete(client));
    forward(client, Number(new URL(target).port), `event: ${textEvent}\n`, takeCut);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    cutNext(frames) {
      cuts = frames;
    },
    get left() {
      return cuts.length;
    },
    async close() {
      for (const client of clients) client.destroy();
      proxy.close();
      await once(proxy, 'close');
    },
  };
}

function forward(client: Socket, port: number, frameStart: string, takeCut: () => number | undefined): void {
  const server = connect(port, '127.0.0.1');
  const end = () => {
    client.destroy();
    server.destroy();
  };
  for (const socket of [client, server]) socket.on('error', end).on('close', end);
  client.on('data', (bytes) => server.write(bytes));
  let framesLeft: number | undefined;
  server.on('data', (bytes: Buffer) => {
    const text = bytes.toString('latin1');
    if (STREAM_HEAD.test(text)) framesLeft = takeCut();
    if (framesLeft === 0) return end();
    for (
      let at = text.indexOf(frameStart);
      framesLeft !== undefined && at >= 0;
      at = text.indexOf(frameStart, at + 1)
    ) {
      if (framesLeft === 0) return void client.write(bytes.subarray(0, at + FRAGMENT_BYTES), end);
      framesLeft -= 1;
    }
    client.write(bytes);
  });
}
