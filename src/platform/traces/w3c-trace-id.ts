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

/** The suffix of the run whose trace id this is, if there is one; undefined for what is no trace id. */
export function suffixOfW3c(traceId: string): string | undefined {
  const groups = W3C_TRACE_ID.exec(traceId)?.slice(1);
  return groups === undefined ? undefined : uuidToULID(groups.join('-')).toLowerCase();
}
