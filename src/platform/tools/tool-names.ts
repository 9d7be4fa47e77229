/** Names of servers' tools as models see them: `<server>__<tool>`, in the characters and the length that every provider takes. */
import { hash } from 'node:crypto';

const MAX_CHARS = 64;
const HASH_CHARS = 8;

/** `isTaken`: another tool of the turn has the name. */
export function toolNameFor(server: string, tool: string, isTaken: (name: string) => boolean): string {
  const plain = `${server}__${tool}`;
  const clean = plain.replaceAll(/[^A-Za-z0-9_-]/g, '_');
  if (clean === plain && clean.length <= MAX_CHARS && !isTaken(clean)) return clean;
  const mark = hash('sha256', `${server}\n${tool}`).slice(0, HASH_CHARS);
  return `${clean.slice(0, MAX_CHARS - HASH_CHARS - 1)}_${mark}`;
}
