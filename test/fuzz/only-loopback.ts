/**
 * Loaded before everything else (`node --import`) into a server that is fuzzed: no name leads out of this machine. What would have asked somebody
 * else's service answers as it does while that cannot be reached.
 */
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';

const LOCAL = /^(localhost|127(\.\d+){3}|::1)$/;

const { lookup } = dns;
const { lookup: lookupPromise } = dns.promises;

function notFound(hostname: string): Error {
  const told = { code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname };
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), told);
}

function lookupLocal(hostname: string, ...rest: unknown[]): void {
  if (LOCAL.test(hostname)) {
    Reflect.apply(lookup, dns, [hostname, ...rest]);
    return;
  }
  const callback = rest.at(-1) as (error: Error) => void;
  process.nextTick(callback, notFound(hostname));
}

async function lookupLocalPromise(hostname: string, ...rest: unknown[]): Promise<unknown> {
  if (LOCAL.test(hostname)) return Reflect.apply(lookupPromise, dns.promises, [hostname, ...rest]);
  throw notFound(hostname);
}

Object.assign(dns, { lookup: lookupLocal });
Object.assign(dns.promises, { lookup: lookupLocalPromise });
syncBuiltinESMExports();
