/** A server of the zone above names, on loopback, by UDP: it refers to nameservers as a TLD's servers do. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type Answer, decode, encode } from 'dns-packet';

export interface FakeParentServer {
  readonly port: number;
  /** Whom it refers to, by name; of any other it says that there is none. */
  readonly delegations: Map<string, { readonly nameservers: readonly string[]; readonly ttlSeconds: number }>;
  /** `forged`: answers under another id come first. */
  mode: 'right' | 'failing' | 'silent' | 'forged';
  /** Questions so far that asked for recursion, and all. */
  readonly asked: { recursive: number; total: number };
  close(): Promise<void>;
}

const NXDOMAIN = 3;
const SERVFAIL = 2;

export async function startParentServer(): Promise<FakeParentServer> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const server: FakeParentServer = {
    port: socket.address().port,
    delegations: new Map(),
    mode: 'right',
    asked: { recursive: 0, total: 0 },
    async close() {
      socket.close();
      await once(socket, 'close');
    },
  };
  socket.on('message', (message, { port, address }) => {
    const { id = 0, questions = [], flag_rd } = decode(message);
    const name = questions[0]?.name ?? '';
    server.asked.total += 1;
    if (flag_rd) server.asked.recursive += 1;
    if (server.mode === 'silent') return;
    const answer = (answerId: number, rcode: number, authorities: Answer[]) =>
      socket.send(encode({ type: 'response', id: answerId, flags: rcode, questions, authorities }), port, address);
    if (server.mode === 'failing') return answer(id, SERVFAIL, []);
    if (server.mode === 'forged') answer((id + 1) % 65_536, 0, referral(name, ['ns1.evil.example'], 1));
    const found = server.delegations.get(name);
    if (found === undefined) return answer(id, NXDOMAIN, []);
    return answer(id, 0, referral(name, found.nameservers, found.ttlSeconds));
  });
  return server;
}

function referral(name: string, nameservers: readonly string[], ttl: number): Answer[] {
  return nameservers.map((data) => ({ type: 'NS', name, ttl, data }));
}
