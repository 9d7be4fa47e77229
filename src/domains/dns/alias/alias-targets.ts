/** Asks resolvers for the addresses of what an ALIAS record points to, and tells what they were found by. */
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { getServers } from 'node:dns';
import { once } from 'node:events';
import { connect, isIPv6 } from 'node:net';
import { type Answer, type DecodedPacket, decode, encode } from 'dns-packet';
import { abortAfter } from '../../../kernel/clock/timers.ts';
import { classifyAddress } from '../../../kernel/outbound/classify-address.ts';

export type AddressType = 'A' | 'AAAA';

export type TargetAnswer =
  /** `values` in canonical form, sorted; `hidden`: others are left out, as not everybody reaches them. */
  | { readonly kind: 'found'; readonly values: readonly string[]; readonly hidden: boolean; readonly ttl: number }
  /** The name is there, without such addresses; or it is not there. */
  | { readonly kind: 'none' | 'no_such_name' }
  /** No resolver answers, or none can say. */
  | { readonly kind: 'unknown' };

export interface TargetAddresses {
  readonly answers: Readonly<Record<AddressType, TargetAnswer>>;
  /** The target and the names that its CNAMEs lead to. Lower case, without the last dot. */
  readonly names: readonly string[];
}

export interface AliasTargets {
  /** `target` is lower case, without the last dot. Never rejects. */
  find(target: string): Promise<TargetAddresses>;
}

export interface AliasTargetsOptions {
  /** Addresses, with a port where it is not 53. Default: the system's. */
  readonly resolvers?: readonly string[];
  /** Whether private addresses are given, loopback too. */
  readonly allowsPrivate: boolean;
  /** For each resolver, by UDP and by TCP. Default 3,000. */
  readonly timeoutMs?: number;
}

/** CNAMEs that are followed. */
const LONGEST_CHAIN = 16;
/** Of each type: more than load balancers give. */
const MOST_ADDRESSES = 20;
const NO_SUCH_NAME = 3;
const UDP_SIZE = 1_232;

export function createAliasTargets(options: AliasTargetsOptions): AliasTargets {
  return {
    async find(target) {
      const [a, aaaa] = await Promise.all([look(options, target, 'A'), look(options, target, 'AAAA')]);
      return { answers: { A: a.answer, AAAA: aaaa.answer }, names: [...new Set([target, ...a.names, ...aaaa.names])] };
    },
  };
}

interface Look {
  readonly answer: TargetAnswer;
  readonly names: readonly string[];
}

async function look(options: AliasTargetsOptions, target: string, type: AddressType): Promise<Look> {
  const { timeoutMs = 3_000 } = options;
  for (const resolver of options.resolvers?.length ? options.resolvers : getServers()) {
    const reply = await ask(readServer(resolver), target, type, timeoutMs).catch(() => undefined);
    const found = reply === undefined ? undefined : readReply(options, reply, target, type);
    if (found !== undefined) return found;
  }
  return { answer: { kind: 'unknown' }, names: [] };
}

interface Server {
  readonly address: string;
  readonly port: number;
}

function readServer(text: string): Server {
  if (isIPv6(text)) return { address: text, port: 53 };
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? [];
  return { address: bracketed ?? plain ?? text, port: port === undefined ? 53 : Number(port) };
}

interface Reply extends DecodedPacket {
  readonly rcode: number;
}

async function ask(server: Server, name: string, type: AddressType, timeoutMs: number): Promise<Reply> {
  const id = randomInt(65_536);
  const edns = { udpPayloadSize: UDP_SIZE, extendedRcode: 0, ednsVersion: 0, flags: 0, flag_do: false, options: [] };
  const query = encode({
    type: 'query',
    id,
    // RD.
    flags: 0x0100,
    questions: [{ type, name }],
    additionals: [{ type: 'OPT', name: '.', ...edns }],
  });
  const isAnswer = (reply: Reply) => {
    const [asked] = reply.questions ?? [];
    return reply.type === 'response' && reply.id === id && asked?.name.toLowerCase() === name && asked.type === type;
  };
  const reply = await askByUdp(server, query, { timeoutMs, isAnswer });
  if (!reply.flag_tc) return reply;
  const whole = await askByTcp(server, query, timeoutMs);
  if (!isAnswer(whole)) throw new Error('the resolver answered another question');
  return whole;
}

interface Wait {
  readonly timeoutMs: number;
  readonly isAnswer: (reply: Reply) => boolean;
}

async function askByUdp({ address, port }: Server, query: Buffer, { isAnswer, timeoutMs }: Wait): Promise<Reply> {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  try {
    // Only this server's answers are taken in.
    socket.connect(port, address);
    await once(socket, 'connect');
    const signal = abortAfter(timeoutMs);
    socket.send(query);
    for (;;) {
      const [bytes]: Buffer[] = await once(socket, 'message', { signal });
      const reply = bytes === undefined ? undefined : decodeReply(bytes);
      if (reply !== undefined && isAnswer(reply)) return reply;
    }
  } finally {
    socket.close();
  }
}

async function askByTcp({ address, port }: Server, query: Buffer, timeoutMs: number): Promise<Reply> {
  const socket = connect({ host: address, port, signal: abortAfter(timeoutMs) });
  try {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(query.length);
    socket.write(Buffer.concat([length, query]));
    let received = Buffer.alloc(0);
    for await (const piece of socket) {
      received = Buffer.concat([received, piece]);
      if (received.length < 2 || received.length < received.readUInt16BE(0) + 2) continue;
      const reply = decodeReply(received.subarray(2, received.readUInt16BE(0) + 2));
      if (reply !== undefined) return reply;
      break;
    }
    throw new Error('the resolver gave no answer');
  } finally {
    socket.destroy();
  }
}

function decodeReply(bytes: Buffer): Reply | undefined {
  try {
    return { ...decode(bytes), rcode: bytes.readUInt16BE(2) & 0xf };
  } catch {
    return undefined;
  }
}

/** Undefined: another resolver may know more. */
function readReply(
  { allowsPrivate }: AliasTargetsOptions,
  { answers = [], rcode }: Reply,
  target: string,
  type: AddressType,
): Look | undefined {
  const { names, ttl } = followChain(answers, target);
  if (rcode === NO_SUCH_NAME) return { answer: { kind: 'no_such_name' }, names };
  if (rcode !== 0) return undefined;
  const end = names.at(-1);
  const records = answers.flatMap((record) =>
    record.type === type && bare(record.name) === end ? [{ value: record.data, ttl: record.ttl ?? 0 }] : [],
  );
  if (records.length === 0) return { answer: { kind: 'none' }, names };
  const given = records.map(({ value }) => value);
  const values = given.filter((value) => isReachable(value, allowsPrivate));
  return {
    answer: {
      kind: 'found',
      values: [...new Set(values)].sort().slice(0, MOST_ADDRESSES),
      hidden: values.length < given.length,
      ttl: Math.min(ttl, ...records.map((record) => record.ttl)),
    },
    names,
  };
}

/** From the target by its CNAMEs to the name that the addresses are of; a circle ends. */
function followChain(answers: readonly Answer[], target: string): { names: string[]; ttl: number } {
  const names = [target];
  let ttl = Number.POSITIVE_INFINITY;
  while (names.length <= LONGEST_CHAIN) {
    const link = answers.find((record) => record.type === 'CNAME' && bare(record.name) === names.at(-1));
    if (link?.type !== 'CNAME' || names.includes(bare(link.data))) break;
    names.push(bare(link.data));
    ttl = Math.min(ttl, link.ttl ?? 0);
  }
  return { names, ttl };
}

function bare(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

function isReachable(address: string, allowsPrivate: boolean): boolean {
  const found = classifyAddress(address);
  return found === 'public' || (allowsPrivate && found === 'private');
}
