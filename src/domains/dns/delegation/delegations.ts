/** The port to what the world is told of a name's nameservers: by the servers of the zone above it. */

export interface Delegation {
  /** Lower case, without the last dot; empty: the name is delegated to none. */
  readonly nameservers: readonly string[];
  /** How long resolvers remember them; undefined: not told. */
  readonly ttlSeconds: number | undefined;
}

export interface Delegations {
  /** Throws `DelegationUnknown`. */
  find(name: string): Promise<Delegation>;
}

/** No server of the zone above said anything that can be used. */
export class DelegationUnknown extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'DelegationUnknown';
  }
}
