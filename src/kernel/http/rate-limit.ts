/**
 * Requests a minute, counted in this process: one budget per authenticated owner, one per calling address for callers
 * who have not proved who they are. Headers follow the IETF draft (`RateLimit`, `RateLimit-Policy`) and the names that
 * OpenAI's clients read.
 */
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ApiError } from './errors.ts';

export const WINDOW_SECONDS = 60;

export interface Meter {
  /** Takes one from the key's budget; throws `rate_limit_exceeded` with the seconds to wait when nothing is left. */
  take(key: string): Promise<Quota>;
  /** Takes one, if there is one left: for what is refused on other grounds. */
  count(key: string): Promise<Quota>;
  /** Gives one back that was taken. */
  giveBack(key: string): Promise<void>;
  /** What is left of the key's budget; takes nothing. */
  look(key: string): Promise<Quota>;
}

/** What is left of a budget after a request. */
export interface Quota {
  readonly policy: string;
  readonly limit: number;
  readonly remaining: number;
  readonly resetSeconds: number;
}

export function createMeter(policy: string, limit: number): Meter {
  const limiter = new RateLimiterMemory({ points: limit, duration: WINDOW_SECONDS });
  const quotaOf = (state: RateLimiterRes): Quota => ({
    policy,
    limit,
    remaining: Math.max(0, state.remainingPoints),
    resetSeconds: Math.max(1, Math.ceil(state.msBeforeNext / 1000)),
  });
  return {
    async take(key) {
      try {
        return quotaOf(await limiter.consume(key));
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal;
        const quota = quotaOf(refusal);
        throw new ApiError('rate_limit_exceeded', {
          retryAfterSeconds: quota.resetSeconds,
          headers: quotaHeaders(quota),
          message: `More than ${limit} requests in ${WINDOW_SECONDS} seconds. Retry after ${quota.resetSeconds} s.`,
        });
      }
    },
    async count(key) {
      try {
        return quotaOf(await limiter.consume(key));
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal;
        return quotaOf(refusal);
      }
    },
    async giveBack(key) {
      await limiter.reward(key);
    },
    async look(key) {
      const state = await limiter.get(key);
      return state === null ? { policy, limit, remaining: limit, resetSeconds: WINDOW_SECONDS } : quotaOf(state);
    },
  };
}

/** All three header families. */
export function quotaHeaders(quota: Quota): Record<string, string> {
  return {
    'ratelimit-policy': `"${quota.policy}";q=${quota.limit};w=${WINDOW_SECONDS}`,
    ratelimit: `"${quota.policy}";r=${quota.remaining};t=${quota.resetSeconds}`,
    'x-ratelimit-limit-requests': String(quota.limit),
    'x-ratelimit-remaining-requests': String(quota.remaining),
    'x-ratelimit-reset-requests': `${quota.resetSeconds}s`,
  };
}

/** The key an address is counted under: an IPv6 subscriber usually holds a whole /64, so that is one caller. */
export function addressKey(address: string): string {
  const known = keys.get(address);
  if (known !== undefined) return known;
  const key = readAddress(address);
  // What proxies pass on may be any text.
  if (address.length > LONGEST_ADDRESS) return key;
  keys.set(address, key);
  return key;
}

/** With a zone. */
const LONGEST_ADDRESS = 64;
/** Of the addresses that called last: to read one takes longer than to count it. */
const keys = new LRUCache<string, string>({ max: 10_000 });

function readAddress(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  const network = parsed.toByteArray().slice(0, 8);
  return `${Buffer.from(network).toString('hex')}/64`;
}
