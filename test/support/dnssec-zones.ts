/** Zones whose DNSSEC is switched: their rows, a clock, a registry, and whoever signs, which all tell what they do. */
import type { DnssecKeeperOptions } from '../../src/domains/dns/dnssec/dnssec-keeper.ts';
import type { DsRecord } from '../../src/domains/registry/registry.ts';
import { systemDb } from '../../src/domains/workspace-scope.ts';
import { createManualClock, type ManualClock } from '../../src/kernel/clock/clock.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { mintId } from '../../src/kernel/ids/ids.ts';
import { createMemoryRegistry, type MemoryRegistry } from './memory-registry.ts';

export interface TestZone {
  readonly workspaceId: string;
  readonly domainId: string;
  readonly name: string;
}

export const DS_TTL_MS = 86_400_000;

/** Rows of a workspace, a domain and its zone. */
export async function insertZone(db: Database, name: string): Promise<TestZone> {
  const zone = { workspaceId: mintId('ws'), domainId: mintId('dom'), name };
  const system = systemDb(db);
  const { workspaceId: workspace_id, domainId: domain_id } = zone;
  await system.insertInto('workspaces').values({ id: workspace_id, name: 'Test' }).execute();
  const domain = { workspace_id, id: domain_id, name, state: 'active', added_via: 'registration' } as const;
  await system.insertInto('domains').values(domain).execute();
  await system.insertInto('zones').values({ workspace_id, domain_id, name }).execute();
  return zone;
}

export interface MemorySigner {
  sign(name: string): Promise<readonly DsRecord[]>;
  unsign(name: string): Promise<void>;
  hasKey(name: string): boolean;
}

export interface DnssecWorld {
  readonly clock: ManualClock;
  readonly registry: MemoryRegistry;
  readonly signer: MemorySigner;
  /** What happened, in order: `sign`, `ds 1` (the registry has one DS record now), `unsign`. */
  readonly events: string[];
  /** Times at which validators would have taken answers of a zone for forged: must be none. */
  readonly breaches: string[];
  readonly options: Omit<DnssecKeeperOptions, 'db'>;
}

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

export function createDnssecWorld(start = new Date('2026-11-21T12:00:00Z')): DnssecWorld {
  const clock = createManualClock(start);
  const events: string[] = [];
  const breaches: string[] = [];
  const keys = new Map<string, number>();
  let lastKey = 0;
  const registry = createMemoryRegistry(clock, (name) => {
    const dsRecords = registry.dsOf(name);
    events.push(`ds ${dsRecords.length}`);
    if (dsRecords.some(({ keyTag }) => keyTag !== keys.get(name)))
      breaches.push(`${name}: a DS record without its key`);
  });
  const signer: MemorySigner = {
    async sign(name) {
      if (!keys.has(name)) {
        lastKey += 1;
        keys.set(name, lastKey);
        events.push('sign');
      }
      return [{ keyTag: keys.get(name) ?? 0, algorithm: 13, digestType: 2, digest: 'AB'.repeat(32) }];
    },
    async unsign(name) {
      if (!keys.delete(name)) return;
      events.push('unsign');
      const lastHadDs = registry.lastHadDs(name);
      if (lastHadDs !== undefined && clock.now().getTime() - lastHadDs.getTime() < DS_TTL_MS) {
        breaches.push(`${name}: a key dropped while resolvers may remember its DS record`);
      }
    },
    hasKey: (name) => keys.has(name),
  };
  const options = { registry, zones: signer, publisher: { supportsDnssec: true }, clock, logger: silent };
  return { clock, registry, signer, events, breaches, options };
}
