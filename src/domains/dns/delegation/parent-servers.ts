/**
 * Asks the servers of the zone above a name for its delegation, without recursion: a resolver would give the NS records of the zone itself,
 * which are ours as long as we serve it.
 */
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { type Answer, type DecodedPacket, decode, encode, type StringAnswer } from 'dns-packet';
import { abortAfter } from '../../../kernel/clock/timers.ts';
import { type Delegation, type Delegations, DelegationUnknown } from './delegations.ts';

export interface NameserverAddress {
  readonly address: string;
  readonly port: number;
}

export interface ParentServersOptions {
  /** Of the zone that the name lies in. Default: by a resolver. */
  readonly findServers?: (name: string) => Promise<readonly NameserverAddress[]>;
  /** Of the resolver; default: the system's. */
  readonly resolvers?: readonly string[];
  /** For each server. Default 2,000. */
  readonly timeoutMs?: number;
}

/** One server may be behind the others, so several are asked: the name counts as delegated to what any of them says. */
const SERVERS_ASKED = 3;
const NO_SUCH_NAME = 3;

export function createParentServers(options: ParentServersOptions = {}): Delegations {
  const { resolvers = [], timeoutMs = 2_000 } = options;
  const findServers = options.findServers ?? ((name: string) => resolveServers(name, resolvers));
  return {
    async find(name) {
      const servers = (await findServers(name)).slice(0, SERVERS_ASKED);
      const settled = await Promise.allSettled(servers.map((server) => askServer(server, name, timeoutMs)));
      const found = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      if (found.length === 0) throw new DelegationUnknown(`no server above ${name} answers`, settled.at(0));
      const ttls = found.flatMap(({ ttlSeconds }) => ttlSeconds ?? []);
      return {
        nameservers: [...new Set(found.flatMap(({ nameservers }) => nameservers))],
        ttlSeconds: ttls.length === 0 ? undefined : Math.max(...ttls),
      };
    },
  };
}

async function askServer({ address, port }: NameserverAddress, name: string, timeoutMs: number): Promise<Delegation> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  const id = randomInt(65_536);
  try {
    // Only this server's answers are taken in.
    socket.connect(port, address);
    await once(socket, 'connect');
    const edns = { udpPayloadSize: 1_232, extendedRcode: 0, ednsVersion: 0, flags: 0, flag_do: false, options: [] };
    const query = encode({
      type: 'query',
      id,
      questions: [{ type: 'NS', name }],
      additionals: [{ type: 'OPT', name: '.', ...edns }],
    });
    const signal = abortAfter(timeoutMs);
    socket.send(query);
    for (;;) {
      const [bytes]: Buffer[] = await once(socket, 'message', { signal });
      const reply = bytes === undefined ? undefined : readReply(bytes, id, name);
      if (reply !== undefined) return delegationIn(reply, name);
    }
  } finally {
    socket.close();
  }
}

/** Undefined for what is no answer to the question. */
function readReply(bytes: Buffer, id: number, name: string): (DecodedPacket & { readonly rcode: number }) | undefined {
  let reply: DecodedPacket;
  try {
    reply = decode(bytes);
  } catch {
    return undefined;
  }
  const [asked] = reply.questions ?? [];
  if (reply.type !== 'response' || reply.id !== id || asked?.name.toLowerCase() !== name) return undefined;
  return { ...reply, rcode: bytes.readUInt16BE(2) & 0xf };
}

function delegationIn(reply: DecodedPacket & { readonly rcode: number }, name: string): Delegation {
  const records = [...(reply.answers ?? []), ...(reply.authorities ?? [])].filter((record) => isOf(record, name));
  if (records.length > 0 && reply.rcode === 0) {
    return {
      nameservers: records.map(({ data }) => data.toLowerCase().replace(/\.$/, '')),
      ttlSeconds: Math.max(...records.map(({ ttl = 0 }) => ttl)),
    };
  }
  // RFC 2308: that there is none is said with the SOA record of the zone above.
  const isDenied = (reply.authorities ?? []).some((record) => record.type === 'SOA');
  const isDefinite = reply.rcode === NO_SUCH_NAME || (reply.rcode === 0 && isDenied);
  if (isDefinite && !reply.flag_tc) return { nameservers: [], ttlSeconds: undefined };
  throw new DelegationUnknown(`a server above ${name} answers with code ${reply.rcode}, and without its delegation`);
}

function isOf(record: Answer, name: string): record is StringAnswer {
  return record.type === 'NS' && record.name.toLowerCase() === name;
}

/** The zone above may be further up than the next label: `example.co.uk` lies in `co.uk`, and another TLD may have no zone there. */
async function resolveServers(name: string, resolvers: readonly string[]): Promise<NameserverAddress[]> {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  if (resolvers.length > 0) resolver.setServers(resolvers);
  for (let zone = parentOf(name); zone !== ''; zone = parentOf(zone)) {
    const hosts = await resolver.resolveNs(zone).catch(() => []);
    if (hosts.length === 0) continue;
    const found = await Promise.all(
      hosts.slice(0, SERVERS_ASKED).map((host) => resolver.resolve4(host).catch(() => [])),
    );
    return found.flatMap(([address]) => (address === undefined ? [] : [{ address, port: 53 }]));
  }
  throw new DelegationUnknown(`the zone above ${name} is not found`);
}

function parentOf(name: string): string {
  const dot = name.indexOf('.');
  return dot === -1 ? '' : name.slice(dot + 1);
}
