/**
 * The W3C trace id of a run: the 128 bits of its ULID as 32 hexadecimal digits. It is the same on every replica and every
 * time, and leads back to the run.
 */
import { ulidToUUID, uuidToULID } from 'ulid';
import { suffixOf } from '../../kernel/ids/ids.ts';

/** Of an id of any kind. */
export function w3cTraceIdOf(id: string): string {
  return ulidToUUID(suffixOf(id).toUpperCase()).replaceAll('-', '').toLowerCase();
}

const W3C_TRACE_ID = /^(?!0{32})([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;

/** The id that a run with this trace id would have; undefined for what is no trace id. */
export function runOfTraceId(traceId: string): string | undefined {
  const groups = W3C_TRACE_ID.exec(traceId)?.slice(1);
  return groups === undefined ? undefined : `run_${uuidToULID(groups.join('-')).toLowerCase()}`;
}
