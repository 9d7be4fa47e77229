/** What the DNS says of a domain, within a bounded time. */
import { Resolver } from 'node:dns/promises';
import type { ToMailReader } from './protocol.ts';

export type LookUpDns = (name: string, type: string) => Promise<Extract<ToMailReader, { kind: 'found' | 'missing' }>>;

const TIMEOUT_MS = 2_000;
const TRIES = 2;
const MAX_RECORDS = 50;
const TYPES = new Set(['A', 'AAAA', 'CNAME', 'MX', 'TXT']);

/** `servers`: in place of the system's. */
export function createDnsLookUp(servers: readonly string[] = []): LookUpDns {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  if (servers.length > 0) resolver.setServers(servers);
  return async (name, type) => {
    if (!TYPES.has(type)) return { kind: 'missing', code: 'ENODATA' };
    try {
      const records = await resolver.resolve(name, type);
      return { kind: 'found', records: Array.isArray(records) ? records.slice(0, MAX_RECORDS) : [] };
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'ESERVFAIL';
      return { kind: 'missing', code };
    }
  };
}
