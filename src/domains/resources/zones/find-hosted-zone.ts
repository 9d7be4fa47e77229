/** A name of the caller's workspace whose records are kept here. */
import type { Executor } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { DnssecState } from '../../dns/dnssec/index.ts';
import type { StoredRecord, ZoneRef } from '../../dns/index.ts';
import { normalizeName } from '../../names/normalize-name.ts';

export interface HostedZone extends ZoneRef {
  readonly serial: number;
  /** Whether what is served is what the rows say. */
  readonly isPublished: boolean;
  readonly dnssec: DnssecState;
  /** In our words; null: there is none. */
  readonly dnssecProblem: string | null;
}

export interface ZoneQuery {
  readonly workspaceId: string;
  /** As the caller wrote it. */
  readonly name: string;
  /** The service's own. */
  readonly nameservers: readonly string[];
}

export interface FoundZone {
  id: string;
  name: string;
  nameservers: string[] | null;
  has_zone: boolean;
  serial: number | null;
  is_published: boolean | null;
  dnssec: DnssecState | null;
  dnssec_problem: string | null;
}

/** Dates are text in JSON. */
export type JsonRecord = Omit<StoredRecord, 'created_at'> & { readonly created_at: string };

export const zoneColumns = `d.id, d.name, d.snapshot -> 'nameservers' as nameservers, z.domain_id is not null as has_zone, z.serial,
  z.published_version >= z.version as is_published, z.dnssec, coalesce(z.dnssec_failure, z.dnssec_refusal) as dnssec_problem`;

const tables = `domains.domains d
  left join domains.zones z on z.workspace_id = d.workspace_id and z.domain_id = d.id
  where d.workspace_id = $1 and d.name = $2 and d.state <> 'gone'`;

const aliasOfZone = `(select json_build_object('addresses', a.addresses, 'resolved_at', a.resolved_at, 'problem', a.problem)
  from domains.alias_answers a where a.workspace_id = d.workspace_id and a.domain_id = d.id)`;

export const recordsOfZone = `(select json_agg(json_build_object('id', r.id, 'subdomain', r.subdomain, 'type', r.type, 'value', r.value,
    'ttl', r.ttl, 'created_at', r.created_at, 'alias', case when r.type = 'ALIAS' then ${aliasOfZone} end) order by r.subdomain <> '@', r.subdomain, r.type, r.id)
  from domains.dns_records r where r.workspace_id = d.workspace_id and r.domain_id = d.id)`;

/** Throws `not_found` and `no_hosted_zone`. */
export async function findHostedZone(executor: Executor, asked: ZoneQuery): Promise<HostedZone> {
  const { rows } = await executor.query<FoundZone>({
    text: `select ${zoneColumns} from ${tables}`,
    values: [asked.workspaceId, normalizeName(asked.name, 'name').ascii],
  });
  return requireHosted(rows[0], asked);
}

/** The records by name, the zone's own first; then type and age. Throws as `findHostedZone`. */
export async function readHostedZone(
  executor: Executor,
  asked: ZoneQuery,
): Promise<HostedZone & { readonly records: readonly StoredRecord[] }> {
  const { rows } = await executor.query<FoundZone & { records: JsonRecord[] | null }>({
    text: `select ${zoneColumns}, ${recordsOfZone} as records from ${tables}`,
    values: [asked.workspaceId, normalizeName(asked.name, 'name').ascii],
  });
  const zone = requireHosted(rows[0], asked);
  return { ...zone, records: storedRecords(rows[0]?.records) };
}

/** Null: there are none. */
export function storedRecords(records: readonly JsonRecord[] | null | undefined): StoredRecord[] {
  return (records ?? []).map((record) => ({ ...record, created_at: new Date(record.created_at) }));
}

/** A name that the registry does not report yet is hosted when it was given a zone as it was ordered. */
export function requireHosted(row: FoundZone | undefined, { workspaceId, nameservers }: ZoneQuery): HostedZone {
  if (row === undefined) throw new ApiError('not_found');
  const isHosted = row.nameservers === null ? row.has_zone : isSameSet(row.nameservers, nameservers);
  if (!isHosted) {
    throw new ApiError('no_hosted_zone', {
      message: `The records of ${row.name} are not kept here. Manage them where its nameservers are, or switch it to ours: ${nameservers.join(', ')}.`,
      details: { nameservers: [...nameservers], current_nameservers: row.nameservers ?? [] },
    });
  }
  return {
    workspaceId,
    domainId: row.id,
    name: row.name,
    serial: row.serial ?? 0,
    isPublished: row.is_published ?? false,
    dnssec: row.dnssec ?? 'off',
    dnssecProblem: row.dnssec_problem,
  };
}

function isSameSet(theirs: readonly string[], ours: readonly string[]): boolean {
  const others = new Set(theirs.map((server) => server.toLowerCase()));
  return others.size === ours.length && ours.every((server) => others.has(server));
}
