/** Ports of one replica whose calls are effects. */
import { Readable } from 'node:stream';
import type { Outbound, Post } from '../../src/kernel/outbound/outbound.ts';
import type { Channel } from '../../src/platform/channels/index.ts';
import type { Effects } from './effects.ts';

/** The names of the methods that answer promises. */
type AsyncMethod<Port> = {
  [Name in keyof Port]: Port[Name] extends (...values: never[]) => Promise<unknown> ? Name : never;
}[keyof Port] &
  string;

export interface CountedMethods<Port> {
  /** Those that change nothing outside. */
  readonly reads?: readonly AsyncMethod<Port>[];
  readonly writes?: readonly AsyncMethod<Port>[];
}

/** The port with these methods as effects; every other member is as it is. */
export function countPort<Port extends object>(
  port: Port,
  effects: Effects,
  name: string,
  { reads = [], writes = [] }: CountedMethods<Port>,
): Port {
  const isRead = new Set<string | symbol>(reads);
  const isCounted = new Set<string | symbol>([...reads, ...writes]);
  return new Proxy(port, {
    get(target, member) {
      const value: unknown = Reflect.get(target, member, target);
      if (typeof value !== 'function') return value;
      if (!isCounted.has(member)) return value.bind(target);
      return (...values: unknown[]) => {
        const label = [name, String(member), describeValue(values[0])].filter((part) => part !== '').join(' ');
        return effects.perform({ label, isChange: !isRead.has(member) }, () => Reflect.apply(value, target, values));
      };
    },
  });
}

/**
 * Calls whose effects are held elsewhere, as by `openHttpGateway`, or that have none and are answered by another process: no other
 * effect goes first meanwhile.
 */
export function noteTransit<Port extends object>(
  port: Port,
  effects: Effects,
  methods: readonly AsyncMethod<Port>[],
): Port {
  const isNoted = new Set<string | symbol>(methods);
  return new Proxy(port, {
    get(target, member) {
      const value: unknown = Reflect.get(target, member, target);
      if (typeof value !== 'function') return value;
      if (!isNoted.has(member)) return value.bind(target);
      return async (...values: unknown[]) => {
        effects.enterTransit();
        try {
          return await Reflect.apply(value, target, values);
        } finally {
          effects.leaveTransit();
        }
      };
    },
  });
}

/** Nothing that a run makes anew, such as an id: labels of two runs are compared. */
function describeValue(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'subject' in value) return String(value.subject);
  return '';
}

/** Its account is read in the database, which is counted by itself. */
export function countChannel(channel: Channel, effects: Effects): Channel {
  const { findSent, send } = channel;
  return {
    ...channel,
    send: (...values) => effects.perform({ label: 'channel send' }, () => send(...values)),
    ...(findSent && {
      findSent: (...values: Parameters<typeof findSent>) =>
        effects.perform({ label: 'channel look up', isChange: false }, () => findSent(...values)),
    }),
  };
}

export function countOutbound<Part extends Partial<Outbound>>(outbound: Part, effects: Effects): Part {
  const { checkUrl, fetch, openSocket, post } = outbound;
  return {
    ...outbound,
    ...(checkUrl === undefined
      ? {}
      : {
          checkUrl: (...values: Parameters<Outbound['checkUrl']>) =>
            effects.perform({ label: 'look an address up', isChange: false }, () => checkUrl(...values)),
        }),
    ...(fetch === undefined
      ? {}
      : {
          fetch: (...policy: Parameters<Outbound['fetch']>): typeof globalThis.fetch => {
            const send = fetch(...policy);
            return (input, init) => {
              const label = `${init?.method ?? 'GET'} ${originOf(input)}`;
              return effects.perform({ label }, async () => readWhole(await send(input, init)));
            };
          },
        }),
    ...(post === undefined
      ? {}
      : {
          post: (...policy: Parameters<Outbound['post']>): Post => {
            const send = post(...policy);
            return (request) =>
              effects.perform({ label: 'POST' }, async () => {
                const { body, ...reply } = await send(request);
                return { ...reply, body: Readable.from(await body.toArray(), { objectMode: false }) };
              });
          },
        }),
    ...(openSocket === undefined
      ? {}
      : {
          openSocket: async (...values: Parameters<Outbound['openSocket']>) => {
            const socket = await effects.perform({ label: 'connect' }, () => openSocket(...values));
            effects.onCrash(() => socket.destroy());
            return socket;
          },
        }),
  };
}

/** What has arrived is no further effect: it is read within this one. */
async function readWhole(response: Response): Promise<Response> {
  const { headers, status, statusText, url } = response;
  const bytes = response.body === null ? null : await response.arrayBuffer();
  return Object.defineProperty(new Response(bytes, { headers, status, statusText }), 'url', { value: url });
}

function originOf(input: string | URL | Request): string {
  return new URL(input instanceof Request ? input.url : input).protocol;
}
