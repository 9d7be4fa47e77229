/**
 * Response rate limiting: how many answers a network gets by UDP, where a sender's address can be forged and a server that
 * answers every query floods the victim named in it. By network (/24, /56), as one sender can forge all of its addresses.
 */
import { isIPv4 } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../kernel/clock/clock.ts';

export interface ResponseRateOptions {
  readonly clock: Clock;
  /** Answers a second for one network; twice as many at once. */
  readonly perSecond: number;
  /** Networks that are counted at a time, the most recently seen. Default 100,000. */
  readonly networkLimit?: number;
}

/** `slip`: answer with TC alone, so that a real client repeats the query by TCP. */
export type RateVerdict = 'answer' | 'slip' | 'drop';

interface Bucket {
  tokens: number;
  atMs: number;
  refused: number;
}

export class ResponseRate {
  readonly #options: ResponseRateOptions;
  readonly #buckets: LRUCache<string, Bucket>;

  constructor(options: ResponseRateOptions) {
    this.#options = options;
    this.#buckets = new LRUCache({ max: options.networkLimit ?? 100_000 });
  }

  judge(address: string): RateVerdict {
    const { clock, perSecond } = this.#options;
    const nowMs = clock.now().getTime();
    const bucket = this.#bucketOf(networkOf(address), nowMs);
    const elapsedMs = Math.max(0, nowMs - bucket.atMs);
    bucket.tokens = Math.min(2 * perSecond, bucket.tokens + (elapsedMs / 1_000) * perSecond);
    bucket.atMs = nowMs;
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1;
      return 'answer';
    }
    bucket.refused += 1;
    return bucket.refused % 2 === 0 ? 'slip' : 'drop';
  }

  #bucketOf(network: string, nowMs: number): Bucket {
    const known = this.#buckets.get(network);
    if (known !== undefined) return known;
    const bucket = { tokens: 2 * this.#options.perSecond, atMs: nowMs, refused: 0 };
    this.#buckets.set(network, bucket);
    return bucket;
  }
}

function networkOf(address: string): string {
  const mapped = address.startsWith('::ffff:') ? address.slice(7) : address;
  if (isIPv4(mapped)) return mapped.slice(0, mapped.lastIndexOf('.'));
  // 56 bits: three groups and half of the fourth. Text with '::' that early is rare, and then only coarser.
  const groups = address.split(':');
  return `${groups.slice(0, 3).join(':')}:${(groups[3] ?? '').padStart(4, '0').slice(0, 2)}`;
}
