import { lookup as systemLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { setTimer } from '../clock/timers.ts';
import type { Logger } from '../log/log.ts';
import { type AllowEntry, allowsAddress, allowsHost } from './allow-list.ts';
import { classifyAddress } from './classify-address.ts';
import { OutboundError } from './outbound-error.ts';

/**
 * - `public`: global unicast addresses alone.
 * - `private`: also loopback and the operator's own networks; link-local and cloud metadata stay closed.
 */
export type OutboundPolicy = 'public' | 'private';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** All addresses of a host name. Rejects when there is none. */
export type Lookup = (hostname: string) => Promise<readonly ResolvedAddress[]>;

export interface UrlRules {
  readonly policy: OutboundPolicy;
  /** Refuse http, save for hosts that the allow list names. */
  readonly httpsOnly?: boolean;
}

export interface AddressGuard {
  /** Parses and checks what can be seen without resolving the name. Throws `OutboundError`. */
  checkShape(url: string | URL, rules: UrlRules): URL;
  /**
   * The addresses to connect to, all of which the policy admits: one refused address refuses the host, so that a name
   * with a public and a private address gains nothing. Throws `OutboundError`.
   */
  resolve(hostname: string, port: number, policy: OutboundPolicy): Promise<readonly ResolvedAddress[]>;
}

export const lookupBySystem: Lookup = async (hostname) => {
  const found = await systemLookup(hostname, { all: true, order: 'verbatim' });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

export interface AddressGuardOptions {
  readonly allow: readonly AllowEntry[];
  readonly lookup: Lookup;
  readonly lookupTimeoutMs: number;
  /** Logs each refused address: the operator may see it, the user may not. */
  readonly logger: Logger | undefined;
}

export function createAddressGuard({ allow, lookup, lookupTimeoutMs, logger }: AddressGuardOptions): AddressGuard {
  function admits(hostname: string, address: string, port: number, policy: OutboundPolicy): boolean {
    const found = classifyAddress(address);
    if (found === 'forbidden') return false;
    if (found === 'public') return true;
    if (allowsHost(allow, hostname, port) || allowsAddress(allow, address, port)) return true;
    return policy === 'private' && found === 'private';
  }

  function refuse(hostname: string, address: string, port: number, policy: OutboundPolicy): OutboundError {
    logger?.warn({ host: hostname, address, port, policy }, 'outbound address refused');
    return addressError(hostname, port);
  }

  return {
    checkShape(input, rules) {
      const url = parseUrl(input);
      const hostname = hostOf(url);
      const port = portOf(url);
      if (url.protocol !== 'https:' && url.protocol !== 'http:') {
        throw new OutboundError(
          'scheme',
          `the URL starts with ${url.protocol}; use ${rules.httpsOnly ? 'https' : 'http or https'}`,
        );
      }
      const named = allowsHost(allow, hostname, port) || allowsAddress(allow, hostname, port);
      if (rules.httpsOnly === true && url.protocol !== 'https:' && !named) {
        throw new OutboundError('scheme', 'the URL starts with http:; use https');
      }
      if (url.username !== '' || url.password !== '') {
        throw new OutboundError('credentials', 'the URL holds a user name or password; send credentials in a header');
      }
      if (isIP(hostname) !== 0 && !admits(hostname, hostname, port, rules.policy)) {
        throw refuse(hostname, hostname, port, rules.policy);
      }
      return url;
    },

    async resolve(hostname, port, policy) {
      const addresses = await findAddresses(hostname, lookup, lookupTimeoutMs);
      for (const { address } of addresses) {
        if (!admits(hostname, address, port, policy)) throw refuse(hostname, address, port, policy);
      }
      return addresses;
    },
  };
}

/** Without the brackets of an IPv6 address. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.+)\]$/, '$1');
}

export function portOf(url: Pick<URL, 'port' | 'protocol'>): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

function parseUrl(input: string | URL): URL {
  try {
    // A copy: the caller's object may change while the call is under way.
    return new URL(input);
  } catch {
    throw new OutboundError('malformed', 'not an absolute URL; write one such as https://example.com/path');
  }
}

async function findAddresses(hostname: string, lookup: Lookup, timeoutMs: number): Promise<readonly ResolvedAddress[]> {
  const family = isIP(hostname);
  if (family !== 0) return [{ address: hostname, family: family === 6 ? 6 : 4 }];
  // The system's resolver knows no timeout of its own.
  const late = Promise.withResolvers<never>();
  const timer = setTimer(() => late.reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs, {
    keepsProcess: true,
  });
  try {
    const found = await Promise.race([lookup(hostname), late.promise]);
    if (found.length === 0) throw new Error('no addresses');
    return found;
  } catch (cause) {
    throw new OutboundError('unresolvable', `the host ${hostname} could not be resolved; check its name`, { cause });
  } finally {
    timer.cancel();
  }
}

/** Says what opens the host, save where nothing does. Of a name it does not say which kind of address is behind it. */
function addressError(hostname: string, port: number): OutboundError {
  if (isIP(hostname) !== 0 && classifyAddress(hostname) === 'forbidden') {
    return new OutboundError('address', `the address ${hostname} is never called, whatever the settings`);
  }
  const entry = `${isIP(hostname) === 6 ? `[${hostname}]` : hostname}:${port}`;
  const found = isIP(hostname) === 0 ? 'does not resolve to public addresses alone' : 'is no public address';
  return new OutboundError(
    'address',
    `the host ${hostname} ${found}; if it is meant, the operator of this server opens it with IRONCRAFT_OUTBOUND_ALLOW=${entry}`,
  );
}
