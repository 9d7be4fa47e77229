/** The nameservers that copy zones from here: who may, and who is told of changes. */
import { ClientAddress, type Network, readNetwork } from '../guard/client-address.ts';
import type { TsigKey } from './tsig.ts';

export interface SecondaryOptions {
  /** An address, or a network as in `192.0.2.0/24`, whose servers may copy zones and are not told. */
  readonly address: string;
  readonly port: number;
  /** Absent: it is known by its address alone. */
  readonly key?: TsigKey;
}

interface Allowed {
  readonly network: Network;
  readonly key: TsigKey | undefined;
}

export class Secondaries {
  readonly keys: readonly TsigKey[];
  /** Those that are told of changes. */
  readonly notified: readonly SecondaryOptions[];
  readonly #allowed: readonly Allowed[];
  readonly #address = new ClientAddress();

  constructor(options: readonly SecondaryOptions[]) {
    this.#allowed = options.map(({ address, key }) => {
      const network = readNetwork(address);
      if (network === undefined) throw new Error(`${address} is no address`);
      return { network, key };
    });
    const keys = options.flatMap(({ key }) => (key === undefined ? [] : [[key.name, key] as const]));
    this.keys = [...new Map(keys).values()];
    this.notified = options.filter(({ address }) => !address.includes('/'));
  }

  get isEmpty(): boolean {
    return this.#allowed.length === 0;
  }

  /** Whether who asks from there, with a message under this key, may have whole zones. */
  allow(address: string, key: TsigKey | undefined): boolean {
    if (this.#allowed.length === 0 || !this.#address.read(address)) return false;
    return this.#allowed.some(
      ({ network: { bytes, length, bits }, key: needed }) =>
        (needed === undefined || needed === key) && this.#address.isIn(bytes, length, bits),
    );
  }
}
