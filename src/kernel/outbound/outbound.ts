/**
 * The only way to call an address that a user supplied (server-side request forgery is the danger). Three layers: the
 * URL's shape, at every hop; the addresses, at the moment of connecting; and limits of time, redirects and size.
 */
import type { Socket } from 'node:net';
import type { Logger } from '../log/log.ts';
import {
  createAddressGuard,
  hostOf,
  type Lookup,
  lookupBySystem,
  type OutboundPolicy,
  portOf,
  type UrlRules,
} from './address-guard.ts';
import { parseAllowEntry } from './allow-list.ts';
import type { GuardedAgents } from './guarded-agents.ts';
import type { Post, PostTimeouts } from './guarded-post.ts';
import { openGuardedSocket } from './guarded-socket.ts';

export type { Lookup, OutboundPolicy, UrlRules } from './address-guard.ts';
export type { OutboundPost, OutboundReply, Post } from './guarded-post.ts';
export { openBody } from './open-body.ts';
export { OutboundError } from './outbound-error.ts';
export { readCapped } from './read-capped.ts';

const MAX_REDIRECTS = 5;
const CONNECT_TIMEOUT_MS = 10_000;
const HEADERS_TIMEOUT_MS = 300_000;
const BODY_TIMEOUT_MS = 300_000;

export interface OutboundOptions {
  /** Entries of `parseAllowEntry`: what may be reached although it is not public. Throws `TypeError` for a bad one. */
  readonly allow: readonly string[];
  /** Resolves host names; the system's resolver when absent. */
  readonly lookup?: Lookup;
  /** For resolving the name, and again for connecting. */
  readonly connectTimeoutMs?: number;
  /** Logs each refused address. */
  readonly logger?: Logger;
}

export interface OutboundPostOptions {
  /** Refuse http at every hop, save for hosts that the allow list names. */
  readonly httpsOnly?: boolean;
  /** From sending the request to the head of the reply; 0 waits forever. */
  readonly headersTimeoutMs?: number;
  /** Between two pieces of the body; 0 waits forever. */
  readonly bodyTimeoutMs?: number;
}

export interface OutboundFetchOptions extends OutboundPostOptions {
  /** 0 to 5; 5 when absent. With 0 every answer of status 3xx is refused, whatever it is. */
  readonly maxRedirects?: number;
  /** Of an answer, decoded. One that has more ends with an `OutboundError` (`too_large`), once so many have been read. */
  readonly maxBytes?: number;
}

export interface Outbound {
  /**
   * A `fetch` under the policy. Throws `OutboundError` for what the guard refuses, otherwise as the standard's: a
   * `TypeError` with a cause when the network fails, the signal's reason when aborted (which closes the socket).
   */
  fetch(policy: OutboundPolicy, options?: OutboundFetchOptions): typeof globalThis.fetch;
  /**
   * A POST under the policy, for replies that are streams of small pieces. Every answer of status 3xx is refused. Throws
   * `OutboundError` for what the guard refuses, the network's error with its code, the signal's reason when aborted.
   */
  post(policy: OutboundPolicy, options?: OutboundPostOptions): Post;
  /** Checks a URL when it is registered, resolving its host. Throws `OutboundError`; answers the parsed URL. */
  checkUrl(url: string | URL, rules: UrlRules): Promise<URL>;
  /**
   * A connection for what is no HTTP, without TLS yet. Throws `OutboundError` for what the guard refuses, otherwise what
   * connecting does.
   */
  openSocket(hostname: string, port: number, policy: OutboundPolicy): Promise<Socket>;
  /** Ends idle connections at once and cuts off the others. */
  close(): Promise<void>;
}

export function createOutbound(options: OutboundOptions): Outbound {
  const timeoutMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  const guard = createAddressGuard({
    allow: options.allow.map(parseAllowEntry),
    lookup: options.lookup ?? lookupBySystem,
    lookupTimeoutMs: timeoutMs,
    logger: options.logger,
  });
  // Loaded for the first call: undici is a hundred modules, and many processes never call out.
  let opening: Promise<GuardedAgents> | undefined;
  const open = (): Promise<GuardedAgents> => {
    opening ??= import('./guarded-agents.ts').then(({ openAgents }) => openAgents(guard, timeoutMs));
    return opening;
  };
  return {
    fetch(
      policy,
      { httpsOnly = false, maxRedirects = MAX_REDIRECTS, maxBytes = Number.POSITIVE_INFINITY, ...timeouts } = {},
    ) {
      const limits = { ...fillTimeouts(timeouts), maxRedirects: Math.min(maxRedirects, MAX_REDIRECTS), maxBytes };
      let guarded: Promise<typeof globalThis.fetch> | undefined;
      return async (input, init) => {
        guarded ??= open().then((agents) => agents.fetch({ policy, httpsOnly }, limits));
        return (await guarded)(input, init);
      };
    },
    post(policy, { httpsOnly = false, ...timeouts } = {}) {
      let guarded: Promise<Post> | undefined;
      return async (request) => {
        guarded ??= open().then((agents) => agents.post({ policy, httpsOnly }, fillTimeouts(timeouts)));
        return (await guarded)(request);
      };
    },
    async checkUrl(input, rules) {
      const url = guard.checkShape(input, rules);
      await guard.resolve(hostOf(url), portOf(url), rules.policy);
      return url;
    },
    openSocket: (hostname, port, policy) => openGuardedSocket(guard, { hostname, port, policy, timeoutMs }),
    async close() {
      await (await opening)?.close();
    },
  };
}

function fillTimeouts({
  headersTimeoutMs = HEADERS_TIMEOUT_MS,
  bodyTimeoutMs = BODY_TIMEOUT_MS,
}: OutboundPostOptions): PostTimeouts {
  return { headersTimeoutMs, bodyTimeoutMs };
}
