/**
 * `Idempotency-Key`: the first request with a key runs; its answer is stored in the same transaction as its change, so
 * either both exist or neither does. A repetition with the same request replays the answer; with another request it is
 * refused; while the first still runs it is told so. Errors roll back and store nothing, so a retry runs again.
 */

import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Transaction } from '../db/database.ts';
import { ApiError } from './errors.ts';
import type { IdempotencyClaim } from './operation.ts';

export const MAX_KEY_LENGTH = 255;

export interface StoredAnswer {
  readonly status: number;
  /** Serialized body; empty for none. */
  readonly body: string;
}

export interface IdempotencyStore<Caller> {
  /**
   * Claims the key for this transaction. An earlier answer comes back for replay. Throws `idempotency_key_reused` when
   * the fingerprint differs and `idempotency_in_progress` when another transaction holds the key.
   */
  claim(tx: Transaction, caller: Caller, claim: IdempotencyClaim): Promise<StoredAnswer | undefined>;
  /**
   * Whose keys these are, where that is more than the operation says: callers that may not see each other's answers, or
   * headers that make it another request. Equal keys of different claimants have nothing to do with each other.
   */
  claimantOf?(caller: Caller | undefined, headers: IncomingHttpHeaders, address: string): string;
  /** The codes that a key may be refused with. */
  readonly refusals: readonly string[];
  /** Stores the answer in the claiming transaction. */
  complete(tx: Transaction, caller: Caller, claim: IdempotencyClaim, answer: StoredAnswer): Promise<void>;
}

/** Reads the header; `operation` with the claimant. Throws `invalid_request` for a key that is empty, too long or not printable ASCII. */
export function readClaim(
  operation: string,
  key: string | string[] | undefined,
  url: string,
  body: unknown,
): IdempotencyClaim | undefined {
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !/^[\x20-\x7e]+$/.test(key) || key.length > MAX_KEY_LENGTH) {
    throw new ApiError('invalid_request', {
      message: `Idempotency-Key must be 1 to ${MAX_KEY_LENGTH} printable ASCII characters.`,
      param: 'Idempotency-Key',
    });
  }
  const fingerprint = createHash('sha256').update(url).update('\n').update(canonicalJson(body)).digest('base64url');
  return { operation, key, fingerprint };
}

/** Objects with more members than this keep them as they were sent: sorting tens of thousands would hold up everybody else. */
const MAX_SORTED_MEMBERS = 1_000;

/**
 * JSON with members in a fixed order: the same request, however its client orders them. The value is one that was parsed from
 * JSON, or made of such.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? '';
  if (Array.isArray(value)) {
    if (!value.some(isNested)) return JSON.stringify(value);
    let list = '';
    for (const item of value) list += `${list === '' ? '' : ','}${item === undefined ? 'null' : canonicalJson(item)}`;
    return `[${list}]`;
  }
  const names = Object.keys(value);
  if (names.length <= MAX_SORTED_MEMBERS) names.sort();
  let members = '';
  for (const name of names) {
    const member: unknown = (value as Record<string, unknown>)[name];
    if (member === undefined) continue;
    members += `${members === '' ? '' : ','}${JSON.stringify(name)}:${canonicalJson(member)}`;
  }
  return `{${members}}`;
}

function isNested(value: unknown): boolean {
  return value !== null && typeof value === 'object';
}
