/**
 * The port to the nameservers of our zones. Our rows are the source of truth: a publisher is given a zone as a whole
 * and makes what it serves equal to it. Calls for one zone never overlap (see publish-zone.ts).
 */
import type { DsRecord } from '../registry/registry.ts';

/** All records of one name and type: the unit that DNS answers with (RRset). */
export interface RecordSet {
  /** Absolute, lower case, without the last dot: `www.example.com`. */
  readonly name: string;
  readonly type: string;
  readonly ttl: number;
  /** As a zone file has them: `10 mail.example.com.`, `"v=spf1 -all"`. Sorted. */
  readonly values: readonly string[];
}

export interface ZoneContent {
  /** Lower case, without the last dot. */
  readonly name: string;
  readonly serial: number;
  /** Everything that the zone serves, SOA and NS of its own name included. */
  readonly recordSets: readonly RecordSet[];
}

export interface ZonePublisher {
  readonly kind: 'embedded' | 'powerdns';
  readonly supportsDnssec: boolean;
  /** Makes what is served equal to this. Repeating it changes nothing. Throws when the outcome is not known. */
  publish(zone: ZoneContent): Promise<void>;
  /** Serves the zone no more. One that is not served is no error. */
  remove(zoneName: string): Promise<void>;
  /** Signs the zone, unless it is signed already, and gives what its parent must hold. Throws where DNSSEC is not supported. */
  sign(zoneName: string): Promise<readonly DsRecord[]>;
  /** Stops signing and drops the keys. Only once the parent has no DS record any more. */
  unsign(zoneName: string): Promise<void>;
  /**
   * Signs the zone with a key more, unless it has one whose DS records are not among the `known`; what its parent must hold of those. Throws
   * where DNSSEC is not supported.
   */
  addKey(zoneName: string, known: readonly DsRecord[]): Promise<readonly DsRecord[]>;
  /** Drops the keys whose DS records are not among the `kept`, of which there must be one. */
  retireKeys(zoneName: string, kept: readonly DsRecord[]): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}
