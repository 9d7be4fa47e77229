/** Zones whose DNSSEC is switched: their rows, a clock, a registry and a signer, which all record their calls. */
import assert from 'node:assert/strict';
import { after, before, beforeEach } from 'node:test';
import type { Selectable } from 'kysely';
import {
  createDnssecReconciler,
  type DnssecReconciler,
  type DnssecReconcilerOptions,
  requestDnssec,
} from '../../src/domains/dns/dnssec/index.ts';
import type { DsRecord } from '../../src/domains/registry/registry.ts';
import type { SystemTables } from '../../src/domains/tables.ts';
import { systemDb } from '../../src/domains/workspace-scope.ts';
import { createManualClock, type ManualClock } from '../../src/kernel/clock/clock.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { mintId } from '../../src/kernel/ids/ids.ts';
import { openTestDatabase, type TestDatabase } from './database.ts';
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
  addKey(name: string, known: readonly DsRecord[]): Promise<readonly DsRecord[]>;
  retireKeys(name: string, kept: readonly DsRecord[]): Promise<void>;
  /** Key tags, the oldest first. */
  keysOf(name: string): readonly number[];
  hasKey(name: string): boolean;
}

export interface DnssecWorld {
  readonly clock: ManualClock;
  readonly registry: MemoryRegistry;
  readonly signer: MemorySigner;
  /** What happened, in order: `sign`, `ds 1` (the registry has one DS record now), `key 2` (a second one), `retire`, `unsign`. */
  readonly events: string[];
  /** Times at which validators would have taken answers of a zone for forged: must be none. */
  readonly breaches: string[];
  readonly options: Omit<DnssecReconcilerOptions, 'db'>;
}

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

export function createDnssecWorld(start = new Date('2026-11-21T12:00:00Z')): DnssecWorld {
  const clock = createManualClock(start);
  const events: string[] = [];
  const breaches: string[] = [];
  const keys = new Map<string, readonly number[]>();
  const memory = createMemory(clock, breaches);
  let lastKey = 0;
  const registry = createMemoryRegistry(clock, (name) => {
    const dsRecords = registry.dsOf(name);
    events.push(`ds ${dsRecords.length}`);
    memory.note(name, { ds: dsRecords.map(({ keyTag }) => keyTag) });
  });
  const setKeys = (name: string, tags: readonly number[]) => {
    keys.set(name, tags);
    memory.note(name, { keys: tags });
  };
  const newKey = (name: string, event: string) => {
    lastKey += 1;
    events.push(event);
    setKeys(name, [...keysOf(name), lastKey]);
  };
  const keysOf = (name: string) => keys.get(name) ?? [];
  const dsOf = (tags: readonly number[]): DsRecord[] =>
    tags.map((keyTag) => ({ keyTag, algorithm: 13, digestType: 2, digest: 'AB'.repeat(32) }));
  const signer: MemorySigner = {
    async sign(name) {
      if (keysOf(name).length === 0) newKey(name, 'sign');
      return dsOf(keysOf(name));
    },
    async unsign(name) {
      if (keysOf(name).length === 0) return;
      events.push('unsign');
      setKeys(name, []);
      const lastHadDs = registry.lastHadDs(name);
      if (lastHadDs !== undefined && clock.now().getTime() - lastHadDs.getTime() < DS_TTL_MS) {
        breaches.push(`${name}: a key dropped while resolvers may remember its DS record`);
      }
    },
    async addKey(name, known) {
      const tags = new Set(known.map(({ keyTag }) => keyTag));
      const isNew = (tag: number) => !tags.has(tag);
      if (!keysOf(name).some(isNew)) newKey(name, `key ${keysOf(name).length + 1}`);
      return dsOf(keysOf(name).filter(isNew));
    },
    async retireKeys(name, kept) {
      const tags = new Set(kept.map(({ keyTag }) => keyTag));
      const left = keysOf(name).filter((tag) => tags.has(tag));
      if (left.length === keysOf(name).length) return;
      events.push('retire');
      setKeys(name, left);
    },
    keysOf,
    hasKey: (name) => keysOf(name).length > 0,
  };
  const options = { registry, zones: signer, publisher: { supportsDnssec: true }, clock, logger: silent };
  return { clock, registry, signer, events, breaches, options };
}

interface Remembered {
  readonly tags: readonly number[];
  readonly since: number;
}

/** Of the keys of a zone and of what is signed with them. */
const ANSWER_TTL_MS = 3_600_000;

/** What validators may remember of zones: whatever they put together of it has to fit. */
function createMemory(clock: ManualClock, breaches: string[]) {
  const zones = new Map<string, { ds: Remembered[]; keys: Remembered[] }>();
  return {
    note(name: string, { ds, keys }: { readonly ds?: readonly number[]; readonly keys?: readonly number[] }): void {
      const now = clock.now().getTime();
      const zone = zones.get(name) ?? { ds: [], keys: [] };
      zones.set(name, zone);
      if (ds !== undefined) zone.ds.push({ tags: ds, since: now });
      // Without keys there are no signatures that those of later keys could be taken for.
      if (keys !== undefined)
        zone.keys = keys.length === 0 ? [{ tags: [], since: now }] : [...zone.keys, { tags: keys, since: now }];
      const signed = rememberedAt(zone.keys, now - ANSWER_TTL_MS).filter(({ tags }) => tags.length > 0);
      const current = zone.keys.at(-1);
      for (const parent of rememberedAt(zone.ds, now - DS_TTL_MS).filter(({ tags }) => tags.length > 0)) {
        for (const zoneKeys of current?.tags.length === 0 ? [current] : signed) {
          if (!parent.tags.some((tag) => zoneKeys.tags.includes(tag))) {
            breaches.push(`${name}: the DS record of ${parent.tags} and the keys ${zoneKeys.tags}`);
          }
        }
      }
      for (const [index, one] of signed.entries()) {
        for (const other of signed.slice(index + 1)) {
          if (!one.tags.some((tag) => other.tags.includes(tag))) {
            breaches.push(`${name}: signatures of ${one.tags} and the keys ${other.tags}`);
          }
        }
      }
    },
  };
}

/** What there was at that time, and since. */
function rememberedAt(history: readonly Remembered[], from: number): readonly Remembered[] {
  const first = history.findLastIndex(({ since }) => since <= from);
  return history.slice(Math.max(first, 0));
}

export interface DnssecBench {
  readonly db: Database;
  readonly world: DnssecWorld;
  /** A zone of the test's own, off, whose name the registry has. */
  readonly zone: TestZone;
  /** Who `pass` and `turnOn` let work; a test may put another in its place. */
  reconciler: DnssecReconciler;
  request(on: boolean, supportsDnssec?: boolean): Promise<string>;
  row(): Promise<Selectable<SystemTables['zones']>>;
  state(): Promise<string>;
  /** Lets time pass in steps, each of which the reconciler looks into. */
  pass(ms: number, steps?: number): Promise<void>;
  turnOn(): Promise<void>;
}

/** A database for the file's tests, and a world and a zone for each of them. */
export function useDnssec(): DnssecBench {
  let database: TestDatabase | undefined;
  let current: { world: DnssecWorld; zone: TestZone; reconciler: DnssecReconciler } | undefined;
  let names = 0;

  before(async () => {
    database = await openTestDatabase();
  });
  after(() => database?.close());
  beforeEach(async () => {
    const { db } = bench;
    const world = createDnssecWorld();
    // What a test before has left under way is none of this one's reconciler's business.
    await systemDb(db).updateTable('zones').set({ dnssec: 'off' }).execute();
    names += 1;
    const zone = await insertZone(db, `dnssec${names}.example`);
    world.registry.add(zone.name);
    current = { world, zone, reconciler: createDnssecReconciler({ ...world.options, db }) };
  });

  const opened = () => {
    if (current === undefined) throw new Error('use it inside a test');
    return current;
  };
  const bench: DnssecBench = {
    get db() {
      if (database === undefined) throw new Error('use it inside a test');
      return database.db;
    },
    get world() {
      return opened().world;
    },
    get zone() {
      return opened().zone;
    },
    get reconciler() {
      return opened().reconciler;
    },
    set reconciler(reconciler) {
      opened().reconciler = reconciler;
    },
    request(on, supportsDnssec = true) {
      const { workspaceId, domainId } = bench.zone;
      const wish = { workspaceId, domainId, on, publisher: { supportsDnssec } };
      return bench.db.transaction((tx) => requestDnssec(tx, wish));
    },
    row() {
      const query = systemDb(bench.db).selectFrom('zones').selectAll().where('domain_id', '=', bench.zone.domainId);
      return query.executeTakeFirstOrThrow();
    },
    async state() {
      return (await bench.row()).dnssec;
    },
    async pass(ms, steps = 1) {
      const { clock } = bench.world;
      const start = clock.now().getTime();
      for (let step = 1; step <= steps; step += 1) {
        clock.set(new Date(start + Math.floor((ms * step) / steps)));
        await bench.reconciler.advanceDue();
      }
    },
    async turnOn() {
      await bench.request(true);
      await bench.reconciler.advanceDue();
      assert.equal(await bench.state(), 'on');
    },
  };
  return bench;
}
