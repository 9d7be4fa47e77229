/**
 * Zones as `GET …/zone` answers them. Answers are kept, and none is older than its request: each asks which state its zone is in,
 * with one statement for all that come together, which begins after they came and brings records only of zones whose state is not
 * that of the kept answer. So no replica has to be told of a change, and none can miss one.
 */
import { LRUCache } from 'lru-cache';
import type { Database } from '../../../kernel/db/database.ts';
import { createBatcher } from '../../../kernel/event-loop/batcher.ts';
import { CompressedText } from '../../../kernel/http/compression.ts';
import { normalizeName } from '../../names/normalize-name.ts';
import {
  type FoundZone,
  type JsonRecord,
  recordsOfZone,
  requireHosted,
  storedRecords,
  zoneColumns,
} from './find-hosted-zone.ts';
import { renderZone } from './render-zone.ts';

/** The JSON of a `Zone`, to be sent as it is. `name` is as the caller wrote it. Throws `not_found` and `no_hosted_zone`. */
export type ReadZone = (asked: { readonly workspaceId: string; readonly name: string }) => Promise<CompressedText>;

/** Of JSON; what is compressed of it takes a fifth as much again. */
const KEPT_BYTES = 32 * 1024 * 1024;
const MAX_ASKED_TOGETHER = 64;
/** A connection that stalls does not keep everybody waiting. */
const PATIENCE_MS = 20;

interface Asked {
  readonly workspaceId: string;
  readonly name: string;
}

/** An answer, and the state of the zone that it tells. */
interface Kept {
  readonly state: string;
  readonly json: CompressedText;
}

interface ReadRow extends FoundZone {
  position: number;
  /** Null: there is no zone. */
  state: string | null;
  /** Null where the state is that of the kept answer, and where there are none. */
  records: JsonRecord[] | null;
}

interface Read {
  readonly row: ReadRow | undefined;
  /** What was kept when the question was asked. */
  readonly kept: Kept | undefined;
}

export function createZoneReader(db: Database, nameservers: readonly string[]): ReadZone {
  const kept = new LRUCache<string, Kept>({ maxSize: KEPT_BYTES, sizeCalculation: ({ json }) => json.byteLength });

  /** Asks about each zone once, however many want it. */
  async function readTogether(all: readonly Asked[]): Promise<Read[]> {
    const keys = [...new Set(all.map(keyOf))];
    const asked = new Map(all.map((one) => [keyOf(one), one]));
    const before = keys.map((key) => kept.get(key));
    const zones = keys.map((key) => asked.get(key));
    const values = [
      zones.map((zone) => zone?.workspaceId),
      zones.map((zone) => zone?.name),
      before.map((answer) => answer?.state),
    ];
    const { rows } = await db.query<ReadRow>({ text: readZones, values });
    const found = new Map(rows.map((row) => [keys[row.position - 1], row]));
    const reads = new Map(keys.map((key, index) => [key, { row: found.get(key), kept: before[index] }]));
    return all.map((one) => reads.get(keyOf(one)) ?? NOTHING);
  }

  const read = createBatcher(readTogether, { maxItems: MAX_ASKED_TOGETHER, patienceMs: PATIENCE_MS });

  return async ({ workspaceId, name }) => {
    const asked = { workspaceId, name: normalizeName(name, 'name').ascii };
    const { row, kept: before } = await read(asked);
    const zone = requireHosted(row, { ...asked, nameservers });
    const state = row?.state ?? '';
    if (state !== '' && before?.state === state) return before.json;
    // Others who asked in the same statement have the same answer.
    const made = kept.get(keyOf(asked));
    if (state !== '' && made?.state === state) return made.json;
    const json = new CompressedText(JSON.stringify(renderZone(zone, storedRecords(row?.records), nameservers)));
    if (state !== '') kept.set(keyOf(asked), { state, json });
    return json;
  };
}

const NOTHING: Read = { row: undefined, kept: undefined };

function keyOf({ workspaceId, name }: Asked): string {
  return `${workspaceId} ${name}`;
}

/**
 * Each change of a zone's records counts its version up in the same transaction; what is found of an ALIAS has a time of its own. One that is closed and opened again begins to count
 * anew, at another time.
 */
const state = `d.id || ' ' || z.version || ' ' || z.updated_at || ' ' || (z.published_version >= z.version) || coalesce((
  select ' ' || a.changed_at from domains.alias_answers a where a.workspace_id = d.workspace_id and a.domain_id = d.id), '')`;

const readZones = `
  select asked.position, ${zoneColumns}, ${state} as state,
      case when asked.kept is distinct from ${state} then ${recordsOfZone} end as records
    from unnest($1::text[], $2::text[], $3::text[]) with ordinality as asked (workspace_id, name, kept, position)
    join domains.domains d on d.workspace_id = asked.workspace_id and d.name = asked.name and d.state <> 'gone'
    left join domains.zones z on z.workspace_id = d.workspace_id and z.domain_id = d.id`;
