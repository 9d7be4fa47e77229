/**
 * Publishes zones to PowerDNS by its HTTP API. Zones that we create are `Native`: how a cluster of PowerDNS servers copies
 * them is up to its operator, and the kind of a zone that is there already is left alone. Serials are ours.
 */
import type { DsRecord } from '../../registry/registry.ts';
import type { RecordSet, ZoneContent, ZonePublisher } from '../publisher.ts';
import { batchChanges, diffRecordSets, type RecordSetChange, toServed } from './diff-record-sets.ts';
import { PowerDnsClient, type PowerDnsClientOptions } from './power-dns-client.ts';
import { addKey, retireKeys, signZone, unsignZone } from './sign-zone.ts';
import { readZone, type ServedZone, type ZoneSettings, zonePath } from './zone-api.ts';

export type PowerDnsPublisherOptions = PowerDnsClientOptions;

const settings: ZoneSettings = { soa_edit_api: '', soa_edit: '', api_rectify: true };

export function createPowerDnsPublisher(options: PowerDnsPublisherOptions): ZonePublisher {
  return new PowerDnsPublisher(options);
}

class PowerDnsPublisher implements ZonePublisher {
  readonly kind = 'powerdns';
  readonly supportsDnssec = true;
  readonly #client: PowerDnsClient;

  constructor(options: PowerDnsPublisherOptions) {
    this.#client = new PowerDnsClient(options);
  }

  async publish(zone: ZoneContent): Promise<void> {
    const served = await this.#openZone(zone);
    const changes = diffRecordSets(served.recordSets, zone.recordSets);
    for (const rrsets of batchChanges(changes)) await this.#client.write('PATCH', zonePath(zone.name), { rrsets });
  }

  async remove(zoneName: string): Promise<void> {
    await this.#client.write('DELETE', zonePath(zoneName), undefined, { mayBeAbsent: true });
  }

  sign(zoneName: string): Promise<readonly DsRecord[]> {
    return signZone(this.#client, zoneName);
  }

  unsign(zoneName: string): Promise<void> {
    return unsignZone(this.#client, zoneName);
  }

  addKey(zoneName: string, known: readonly DsRecord[]): Promise<readonly DsRecord[]> {
    return addKey(this.#client, zoneName, known);
  }

  retireKeys(zoneName: string, kept: readonly DsRecord[]): Promise<void> {
    return retireKeys(this.#client, zoneName, kept);
  }

  async start(): Promise<void> {
    // Connections are made as they are needed: a server that does not answer now must not keep the service from starting.
  }

  stop(): Promise<void> {
    return this.#client.stop();
  }

  /** The zone as PowerDNS serves it now, created or set right if need be. */
  async #openZone(zone: ZoneContent): Promise<ServedZone> {
    const served = (await readZone(this.#client, zone.name)) ?? (await this.#create(zone));
    if (Object.entries(settings).some(([key, value]) => Reflect.get(served.settings, key) !== value)) {
      await this.#client.write('PUT', zonePath(zone.name), settings);
    }
    return served;
  }

  /** With as many records as one request holds: no resolver learns that a name is missing which is only late. */
  async #create(zone: ZoneContent): Promise<ServedZone> {
    const read = () => readZone(this.#client, zone.name);
    const body = {
      name: `${zone.name}.`,
      kind: 'Native',
      nameservers: [],
      rrsets: firstRecordSets(zone.recordSets),
      ...settings,
    };
    await this.#client.write('POST', '/zones', body, { isDone: async () => (await read()) !== undefined });
    const created = await read();
    if (created === undefined) throw new Error(`PowerDNS lost the zone ${zone.name} as soon as it was created`);
    return created;
  }
}

/** The zone's SOA and as much of the rest as a batch may have. */
function firstRecordSets(recordSets: readonly RecordSet[]): unknown[] {
  const soaFirst = recordSets.toSorted((a, b) => Number(b.type === 'SOA') - Number(a.type === 'SOA'));
  const changes = soaFirst.map((set): RecordSetChange => {
    const { name, type, ttl, records } = toServed(set);
    return {
      name,
      type,
      ttl,
      changetype: 'REPLACE',
      records: records.map(({ content }) => ({ content, disabled: false })),
    };
  });
  return (batchChanges(changes)[0] ?? []).map(({ name, type, ttl, records }) => ({ name, type, ttl, records }));
}
