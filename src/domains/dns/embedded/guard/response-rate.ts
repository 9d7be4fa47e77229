/**
 * Response rate limiting, as BIND and NSD do: how many answers a network gets by UDP, where a sender's address can be forged and a
 * server that answers every query floods the victim named in it. By network (/24, /56), as one sender can forge all of its
 * addresses; in total, and of each class of answer: what is the same for many names (that they do not exist, are below a wildcard or
 * a delegation, are refused) is counted together, whatever the names are.
 *
 * A limit is the time at which it will have been used up (GCRA), in a table of a fixed size. What is counted no longer makes room for
 * what is: of four places that a key may take, the one which is free first. Keys are mixed with a random number of the process, so
 * that nobody else knows which share a place.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../../kernel/clock/clock.ts';
import { ClientAddress, type Network } from './client-address.ts';

export interface ResponseRateOptions {
  readonly clock: Clock;
  /** Answers a second to one network in all; twice as many at once. 0: no limit. */
  readonly perSecond: number;
  /** The same for answers of one class. 0: no limit. */
  readonly perSecondOfClass: number;
  /** Each how many-th answer beyond a limit is truncated in place of dropped: 1 is each, 0 none. */
  readonly slip: number;
  /** Not limited. */
  readonly exempt: readonly Network[];
  /** Limits that are counted at a time; a power of two. Default 131,072 (1.7 MB). */
  readonly tableSize?: number;
}

/** `slip`: answer with TC alone, so that a real client repeats the query by TCP. */
export type RateVerdict = 'answer' | 'slip' | 'drop';

/** What an answer is counted as. */
export const answerClasses = { total: 0, positive: 1, noData: 2, noName: 3, referral: 4, error: 5 } as const;
export type AnswerClass = (typeof answerClasses)[keyof typeof answerClasses];

const BURST_MS = 2_000;
const PLACES = 4;
const DEFAULT_SIZE = 131_072;
const V4_BYTES = 3;
const V6_BYTES = 7;

export class ResponseRate {
  readonly #options: ResponseRateOptions;
  readonly #address = new ClientAddress();
  readonly #size: number;
  readonly #seed = randomBytes(4).readUInt32LE();
  readonly #keys: Uint32Array;
  /** Milliseconds: when all that was answered has been paid for. */
  readonly #usedUntil: Float64Array;
  readonly #refused: Uint8Array;

  constructor(options: ResponseRateOptions) {
    this.#options = options;
    this.#size = options.tableSize ?? DEFAULT_SIZE;
    this.#keys = new Uint32Array(this.#size);
    this.#usedUntil = new Float64Array(this.#size);
    this.#refused = new Uint8Array(this.#size);
  }

  /** Before an answer is looked for. */
  judgeNetwork(address: string): RateVerdict {
    return this.#judge(address, answerClasses.total, '', 0, this.#options.perSecond);
  }

  /** Once it is known. `name` is what answers of the class have in common, and `type` is 0 where they may be of any. */
  judgeAnswer(address: string, answerClass: AnswerClass, name: string, type: number): RateVerdict {
    return this.#judge(address, answerClass, name, type, this.#options.perSecondOfClass);
  }

  #judge(address: string, answerClass: AnswerClass, name: string, type: number, perSecond: number): RateVerdict {
    if (perSecond === 0 || !this.#address.read(address)) return 'answer';
    if (this.#isExempt()) return 'answer';
    const nowMs = this.#options.clock.now().getTime();
    const place = this.#placeOf(this.#hash(answerClass, name, type), nowMs);
    // A clock that was set back owes no more than a whole burst.
    const usedUntil = Math.min(this.#usedUntil[place] ?? 0, nowMs + BURST_MS);
    const next = Math.max(usedUntil, nowMs) + 1_000 / perSecond;
    if (next <= nowMs + BURST_MS) {
      this.#usedUntil[place] = next;
      return 'answer';
    }
    this.#usedUntil[place] = usedUntil;
    return this.#slips(place) ? 'slip' : 'drop';
  }

  #slips(place: number): boolean {
    const { slip } = this.#options;
    if (slip === 0) return false;
    const refused = (this.#refused[place] ?? 0) + 1;
    this.#refused[place] = refused % slip;
    return refused >= slip;
  }

  #isExempt(): boolean {
    for (const { bytes, length, bits } of this.#options.exempt)
      if (this.#address.isIn(bytes, length, bits)) return true;
    return false;
  }

  /** Where the key is counted; it is, from then on. */
  #placeOf(key: number, nowMs: number): number {
    const first = key & (this.#size - 1) & ~(PLACES - 1);
    let free = first;
    for (let place = first; place < first + PLACES; place += 1) {
      if (this.#keys[place] === key) return place;
      if ((this.#usedUntil[place] ?? 0) < (this.#usedUntil[free] ?? 0)) free = place;
    }
    this.#keys[free] = key;
    this.#usedUntil[free] = nowMs;
    this.#refused[free] = 0;
    return free;
  }

  /** FNV-1a with the mixing of MurmurHash3 behind it; never 0, which is an empty place. */
  #hash(answerClass: number, name: string, type: number): number {
    const { bytes, length } = this.#address;
    const network = length === 4 ? V4_BYTES : V6_BYTES;
    let hash = this.#seed ^ length;
    for (let at = 0; at < network; at += 1) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
    hash = Math.imul(hash ^ answerClass, 0x01000193);
    hash = Math.imul(hash ^ type, 0x01000193);
    for (let at = 0; at < name.length; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) >>> 0 || 1;
  }
}
