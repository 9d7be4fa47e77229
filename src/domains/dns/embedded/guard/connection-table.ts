/**
 * Who may have a connection by TCP. The table is bounded, and nobody is kept out of it by connections on which nothing happens: the one that has
 * been idle longest gives way to a new one, which a server may do at any time (RFC 7766 6.2.3). Nor does one client have it to itself: once half
 * of it is taken, each address has a share, and more connections from there take the place of its own.
 *
 * By address, as none can be forged here, and of IPv6 by /64, of which a host has all addresses.
 */
import type { Metrics } from '../../../../kernel/metrics/metrics.ts';
import { ClientAddress } from './client-address.ts';

export interface ConnectionTableOptions {
  /** Connections at a time. Default 256. */
  readonly limit?: number;
  readonly metrics?: Metrics | undefined;
}

/** A connection in the table. It is idle at first. */
export interface Place {
  /** Something is being answered: it does not give way. */
  setBusy(): void;
  /** From now on. */
  setIdle(): void;
  leave(): void;
}

const DEFAULT_LIMIT = 256;
/** Of the limit: what one address may have once `CROWDED_PART` of it is taken. */
const SHARE_PART = 1 / 4;
const CROWDED_PART = 1 / 2;
const V6_NETWORK_BYTES = 8;

const outcomes = ['accepted', 'displaced', 'refused'] as const;
type Outcome = (typeof outcomes)[number];

interface Entry {
  readonly group: string;
  readonly giveWay: () => void;
}

export class ConnectionTable {
  readonly #limit: number;
  readonly #share: number;
  readonly #address = new ClientAddress();
  readonly #entries = new Set<Entry>();
  readonly #countsByGroup = new Map<string, number>();
  /** In the order in which they have become so. */
  readonly #idle = new Set<Entry>();
  readonly #outcomes: Record<Outcome, number> = { accepted: 0, displaced: 0, refused: 0 };

  constructor({ limit = DEFAULT_LIMIT, metrics }: ConnectionTableOptions = {}) {
    this.#limit = limit;
    this.#share = Math.max(1, Math.floor(limit * SHARE_PART));
    metrics?.gauge('dns_tcp_open_connections', 'Connections by TCP that are open', [], (gauge) =>
      gauge.set({}, this.#entries.size),
    );
    metrics?.gauge(
      'dns_tcp_connections',
      'Connections by TCP since the start, by what became of them',
      ['outcome'],
      (gauge) => {
        for (const outcome of outcomes) gauge.set({ outcome }, this.#outcomes[outcome]);
      },
    );
  }

  /** `giveWay` ends the connection, which has left the table by then. Undefined: there is no room. */
  enter(address: string, giveWay: () => void): Place | undefined {
    const entry = { group: this.#groupOf(address), giveWay };
    if (!this.#makeRoomFor(entry)) {
      this.#outcomes.refused += 1;
      return undefined;
    }
    this.#outcomes.accepted += 1;
    this.#entries.add(entry);
    this.#idle.add(entry);
    this.#countsByGroup.set(entry.group, this.#countOf(entry.group) + 1);
    return {
      setBusy: () => void this.#idle.delete(entry),
      setIdle: () => {
        this.#idle.delete(entry);
        if (this.#entries.has(entry)) this.#idle.add(entry);
      },
      leave: () => this.#remove(entry),
    };
  }

  #makeRoomFor({ group }: Entry): boolean {
    const isCrowded = this.#entries.size >= this.#limit * CROWDED_PART;
    if (isCrowded && this.#countOf(group) >= this.#share) return this.#displace((entry) => entry.group === group);
    return this.#entries.size < this.#limit || this.#displace(() => true);
  }

  /** Of those that fit, the one that has been idle longest. False: none is idle. */
  #displace(fits: (entry: Entry) => boolean): boolean {
    for (const entry of this.#idle) {
      if (!fits(entry)) continue;
      this.#remove(entry);
      this.#outcomes.displaced += 1;
      entry.giveWay();
      return true;
    }
    return false;
  }

  #remove(entry: Entry): void {
    this.#idle.delete(entry);
    if (!this.#entries.delete(entry)) return;
    const left = this.#countOf(entry.group) - 1;
    if (left === 0) this.#countsByGroup.delete(entry.group);
    else this.#countsByGroup.set(entry.group, left);
  }

  #countOf(group: string): number {
    return this.#countsByGroup.get(group) ?? 0;
  }

  #groupOf(address: string): string {
    const { bytes } = this.#address;
    if (!this.#address.read(address)) return address;
    const { length } = this.#address;
    return Buffer.from(bytes.subarray(0, length === 4 ? length : V6_NETWORK_BYTES)).toString('hex');
  }
}
