/**
 * The only way to call an address that a user supplied (server-side request forgery is the danger). Three layers: the
 * URL's shape, at every hop; the addresses, at the moment of connecting; and limits of time, redirects and size.
 */
import { Agent } from 'undici';
import type { Logger } from '../log/log.ts';
import {
  type AddressGuard,
  createAddressGuard,
  hostOf,
  type Lookup,
  lookupBySystem,
  type OutboundPolicy,
  portOf,
  type UrlRules,
} from './address-guard.ts';
import { parseAllowEntry } from './allow-list.ts';
import { createGuardedConnector } from './guarded-connector.ts';
import { createGuardedFetch } from './guarded-fetch.ts';

export type { Lookup, OutboundPolicy, ResolvedAddress, UrlRules } from './address-guard.ts';
export { OutboundError, type OutboundReason } from './outbound-error.ts';
export { readCapped } from './read-capped.ts';

export const MAX_REDIRECTS = 5;
export const CONNECT_TIMEOUT_MS = 10_000;
export const HEADERS_TIMEOUT_MS = 300_000;
export const BODY_TIMEOUT_MS = 300_000;

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

export interface OutboundFetchOptions {
  /** Refuse http at every hop, save for hosts that the allow list names. */
  readonly httpsOnly?: boolean;
  /** 0 to 5; 5 when absent. */
  readonly maxRedirects?: number;
  /** From sending the request to the head of the reply; 0 waits forever. */
  readonly headersTimeoutMs?: number;
  /** Between two pieces of the body; 0 waits forever. */
  readonly bodyTimeoutMs?: number;
}

export interface Outbound {
  /**
   * A `fetch` under the policy. Throws `OutboundError` for what the guard refuses, otherwise as the standard's: a
   * `TypeError` with a cause when the network fails, the signal's reason when aborted (which closes the socket).
   */
  fetch(policy: OutboundPolicy, options?: OutboundFetchOptions): typeof globalThis.fetch;
  /** Checks a URL when it is registered, resolving its host. Throws `OutboundError`; answers the parsed URL. */
  checkUrl(url: string | URL, rules: UrlRules): Promise<URL>;
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
  // One pool a policy: a connection that one of them made must not serve the other.
  const agents = { public: createAgent(guard, 'public', timeoutMs), private: createAgent(guard, 'private', timeoutMs) };
  return {
    fetch(policy, { httpsOnly = false, maxRedirects = MAX_REDIRECTS, headersTimeoutMs, bodyTimeoutMs } = {}) {
      const timeouts = {
        headersTimeout: headersTimeoutMs ?? HEADERS_TIMEOUT_MS,
        bodyTimeout: bodyTimeoutMs ?? BODY_TIMEOUT_MS,
      };
      const dispatcher = agents[policy].compose(
        (dispatch) => (request, handler) => dispatch({ ...request, ...timeouts }, handler),
      );
      return createGuardedFetch(guard, dispatcher, { policy, httpsOnly }, Math.min(maxRedirects, MAX_REDIRECTS));
    },
    async checkUrl(input, rules) {
      const url = guard.checkShape(input, rules);
      await guard.resolve(hostOf(url), portOf(url), rules.policy);
      return url;
    },
    async close() {
      await Promise.all([agents.public.destroy(), agents.private.destroy()]);
    },
  };
}

function createAgent(guard: AddressGuard, policy: OutboundPolicy, timeoutMs: number): Agent {
  return new Agent({ connect: createGuardedConnector(guard, policy, timeoutMs), allowH2: false });
}
