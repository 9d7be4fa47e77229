/**
 * DNS cookies (RFC 7873) with the server cookies of RFC 9018, which other nameservers that have the secret accept: version 1, three
 * reserved bytes, the time, and SipHash-2-4 of the client's cookie, those and its address. Who shows one that is valid was at that
 * address within the hour: it has not been forged.
 */
import type { Clock } from '../../../../kernel/clock/clock.ts';
import { ClientAddress } from './client-address.ts';
import type { CookieSecrets } from './cookie-secrets.ts';
import { type SipKey, sipHash } from './sip-hash.ts';

/** `new`: without a server's cookie, or with one that is not valid (any more). */
export type CookieVerdict = 'valid' | 'new';

const CLIENT_COOKIE_LENGTH = 8;
const SERVER_COOKIE_LENGTH = 16;
const COOKIE_LENGTH = CLIENT_COOKIE_LENGTH + SERVER_COOKIE_LENGTH;
const VERSION = 1;
/** Seconds (RFC 9018 4.3). */
const LIFETIME = 3_600;
const RENEWED_AFTER = 1_800;
const CLOCK_SKEW = 300;
const TIME_AT = 12;
const HASH_AT = 16;
/** Client's cookie, version, reserved, time: what is hashed before the address. */
const HASHED_LENGTH = 16;

export class Cookies {
  readonly #clock: Clock;
  readonly #secrets: CookieSecrets;
  readonly #address = new ClientAddress();
  readonly #hashed = new Uint8Array(HASHED_LENGTH + 16);
  readonly #hash = new Uint8Array(8);

  constructor({ clock, secrets }: { readonly clock: Clock; readonly secrets: CookieSecrets }) {
    this.#clock = clock;
    this.#secrets = secrets;
  }

  /** `given` is the data of the option, of a length that is allowed. */
  judge(given: Buffer, address: string): CookieVerdict {
    if (given.length !== COOKIE_LENGTH || given[CLIENT_COOKIE_LENGTH] !== VERSION) return 'new';
    const age = (this.#nowSeconds() - given.readUInt32BE(TIME_AT)) | 0;
    if (age > LIFETIME || age < -CLOCK_SKEW || !this.#address.read(address)) return 'new';
    this.#hashed.set(given.subarray(0, HASHED_LENGTH));
    for (const secret of this.#secrets.accepting(this.#nowSeconds() - age)) {
      this.#computeHash(secret);
      if (this.#isHash(given)) return 'valid';
    }
    return 'new';
  }

  /** What the answer carries: the client's cookie, and the server's, which is the one that was shown while that is young. */
  make(given: Buffer, verdict: CookieVerdict, address: string): Buffer | undefined {
    const now = this.#nowSeconds();
    if (verdict === 'valid' && ((now - given.readUInt32BE(TIME_AT)) | 0) <= RENEWED_AFTER) return given;
    if (!this.#address.read(address)) return undefined;
    const cookie = Buffer.alloc(COOKIE_LENGTH);
    given.copy(cookie, 0, 0, CLIENT_COOKIE_LENGTH);
    cookie[CLIENT_COOKIE_LENGTH] = VERSION;
    cookie.writeUInt32BE(now >>> 0, TIME_AT);
    this.#hashed.set(cookie.subarray(0, HASHED_LENGTH));
    this.#computeHash(this.#secrets.making(now));
    cookie.set(this.#hash, HASH_AT);
    return cookie;
  }

  #computeHash(secret: SipKey): void {
    const { bytes, length } = this.#address;
    this.#hashed.set(bytes, HASHED_LENGTH);
    sipHash(secret, this.#hashed, HASHED_LENGTH + length, this.#hash, 0);
  }

  /** Every byte is looked at: how long it takes tells nothing. */
  #isHash(given: Buffer): boolean {
    let difference = 0;
    for (let at = 0; at < 8; at += 1) difference |= (given[HASH_AT + at] ?? 0) ^ (this.#hash[at] ?? 0);
    return difference === 0;
  }

  #nowSeconds(): number {
    return Math.floor(this.#clock.now().getTime() / 1_000);
  }
}
