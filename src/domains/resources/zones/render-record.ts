import { absoluteName, isRecordType, type StoredAlias, type StoredRecord } from '../../dns/index.ts';
import { aliasProblems, type DnsRecord } from './schema.ts';

/** The public shape of a row. */
export function renderRecord(zoneName: string, row: StoredRecord): DnsRecord {
  const { id, subdomain, type, value, ttl, created_at } = row;
  if (!isRecordType(type)) throw new Error(`the record ${id} is of an unknown type`);
  const name = absoluteName(subdomain, zoneName);
  const shown = { id, subdomain, name, type, value, ttl, managed: false, created_at: created_at.toISOString() };
  return type === 'ALIAS' ? { ...shown, alias: renderAlias(row.alias) } : shown;
}

/** None: it was just made. */
function renderAlias(alias: StoredAlias | null = null): NonNullable<DnsRecord['alias']> {
  const { addresses = [], problem = null, resolved_at: resolvedAt = null } = alias ?? {};
  const served = addresses.map(({ value }) => value);
  return {
    state: stateOf(problem, resolvedAt, served.length > 0),
    addresses: served,
    resolved_at: resolvedAt === null ? null : new Date(resolvedAt).toISOString(),
    problem: isProblem(problem) ? problem : null,
  };
}

function stateOf(problem: string | null, resolvedAt: string | null, isServed: boolean) {
  if (problem !== null) return isServed ? 'kept' : 'failed';
  return resolvedAt === null ? 'pending' : 'current';
}

function isProblem(text: string | null): text is (typeof aliasProblems)[number] {
  return aliasProblems.some((problem) => problem === text);
}
