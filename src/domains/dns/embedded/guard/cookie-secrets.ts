/**
 * The secrets of server cookies, the same on every replica. Given ones are the operator's, who shares them with other nameservers
 * (anycast) and rotates them as RFC 9018 5 says. Without them each day has one of its own, which every replica derives from the master
 * key: which day's it is follows from the time in the cookie.
 */
import { type SipKey, sipKey } from './sip-hash.ts';

export interface CookieSecrets {
  /** For a cookie that is made at this time, in seconds. */
  making(atSeconds: number): SipKey;
  /** Those under which one may have been made. */
  accepting(atSeconds: number): readonly SipKey[];
}

const DAY_SECONDS = 86_400;
/** Yesterday's, today's, and tomorrow's, where another replica's clock is ahead. */
const DAYS_KEPT = 4;

/** The first makes cookies, and all of them are accepted. */
export function givenSecrets(secrets: readonly [Uint8Array, ...Uint8Array[]]): CookieSecrets {
  const keys = secrets.map(sipKey);
  const [first = sipKey(secrets[0])] = keys;
  return { making: () => first, accepting: () => keys };
}

export function derivedSecrets(derive: (context: string, length: number) => Uint8Array): CookieSecrets {
  const days = new Map<number, readonly [SipKey]>();
  const ofDay = (day: number) => {
    const known = days.get(day);
    if (known !== undefined) return known;
    const keys = [sipKey(derive(`dns cookies of day ${day}`, 16))] as const;
    const [oldest] = days.keys();
    if (oldest !== undefined && days.size >= DAYS_KEPT) days.delete(oldest);
    days.set(day, keys);
    return keys;
  };
  return {
    making: (atSeconds) => ofDay(Math.floor(atSeconds / DAY_SECONDS))[0],
    accepting: (atSeconds) => ofDay(Math.floor(atSeconds / DAY_SECONDS)),
  };
}
