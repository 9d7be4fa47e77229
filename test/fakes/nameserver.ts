/** A nameserver on loopback that says what tests have it say, by UDP. Of any other name it says that there is none. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { decode, encode } from 'dns-packet';

export interface FakeNameserver {
  /** For `Resolver.setServers`. */
  readonly address: string;
  /** TXT records by name; one a line. */
  readonly texts: Map<string, string>;
  /** Domains of whose names it says that it cannot tell. */
  readonly broken: Set<string>;
  close(): Promise<void>;
}

export async function startNameserver(): Promise<FakeNameserver> {
  const texts = new Map<string, string>();
  const broken = new Set<string>();
  const socket = createSocket('udp4');
  socket.on('message', (message, { port, address }) => {
    const { id, questions = [] } = decode(message);
    const [question] = questions;
    const name = question?.name.toLowerCase() ?? '';
    const text = question?.type === 'TXT' ? texts.get(name) : undefined;
    const isBroken = [...broken].some((domain) => name === domain || name.endsWith(`.${domain}`));
    const records = text?.split('\n').map((record) => record.match(/.{1,250}/g) ?? []) ?? [];
    const reply = encode({
      type: 'response',
      ...(id === undefined ? {} : { id }),
      // NXDOMAIN, SERVFAIL: the codes are the lower bits of the flags.
      flags: isBroken ? 2 : text === undefined ? 3 : 0,
      questions,
      answers: isBroken ? [] : records.map((pieces) => ({ type: 'TXT', name, ttl: 1, data: [...pieces] })),
    });
    socket.send(reply, port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    texts,
    broken,
    async close() {
      socket.close();
      await once(socket, 'close');
    },
  };
}
