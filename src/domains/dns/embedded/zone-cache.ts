/**
 * Zones in memory, the most recently used. Concurrent queries share one read of a zone; a change of it, notified after its
 * commit, invalidates it. That a name has no zone is cached too: queries for random names must not reach the database.
 */
import { LRUCache } from 'lru-cache';
import type { Database } from '../../../kernel/db/database.ts';
import { zoneContent } from '../zone-content.ts';
import { findZone } from '../zone-store.ts';
import { buildZoneTree, parentOf, type ZoneTree } from './zone-tree.ts';

export interface ZoneCacheOptions {
  readonly db: Database;
  readonly nameservers: readonly string[];
  /** Bytes of zones that are cached, roughly; a larger zone is not. Default 64 MiB. */
  readonly sizeLimit?: number;
  /** Names without a zone that are cached. Default 50,000. */
  readonly absentLimit?: number;
  /** Zones that are read at a time; a query that needs one more gets no answer. Default 32. */
  readonly loadLimit?: number;
}

/** Too many zones are being read already. */
export class ZoneCacheBusy extends Error {}

/** Names are registered under suffixes of at most four labels. */
const MOST_ZONE_LABELS = 5;

export class ZoneCache {
  readonly #options: ZoneCacheOptions;
  readonly #zones: LRUCache<string, ZoneTree>;
  readonly #absent: LRUCache<string, true>;
  readonly #loading = new Map<string, Promise<ZoneTree | undefined>>();

  constructor(options: ZoneCacheOptions) {
    const { sizeLimit = 64 * 1024 * 1024, absentLimit = 50_000 } = options;
    this.#options = options;
    this.#zones = new LRUCache({ maxSize: sizeLimit, sizeCalculation: ({ size }) => size });
    this.#absent = new LRUCache({ max: absentLimit });
  }

  /**
   * The zone that the name lies in: at once where it is cached, undefined where there is none. Rejects with ZoneCacheBusy,
   * and with the store's errors. Registered names do not lie within each other, so the shortest that is a zone is it.
   */
  find(name: string): ZoneTree | undefined | Promise<ZoneTree | undefined> {
    for (const candidate of zoneNamesOf(name)) {
      const zone = this.#zones.get(candidate);
      if (zone !== undefined) return zone;
      if (this.#absent.get(candidate) === undefined) return this.#loadFirst(name);
    }
    return undefined;
  }

  /** The zone has changed, or is none any more, or is one now. */
  invalidate(name: string): void {
    this.#absent.delete(name);
    this.#zones.delete(name);
    // A read under way still answers those that await it; its result is not cached.
    this.#loading.delete(name);
  }

  clear(): void {
    this.#zones.clear();
    this.#absent.clear();
    this.#loading.clear();
  }

  async #loadFirst(name: string): Promise<ZoneTree | undefined> {
    for (const candidate of zoneNamesOf(name)) {
      if (this.#absent.get(candidate) !== undefined) continue;
      const zone = this.#zones.get(candidate) ?? (await this.#load(candidate));
      if (zone !== undefined) return zone;
    }
    return undefined;
  }

  #load(name: string): Promise<ZoneTree | undefined> {
    const shared = this.#loading.get(name);
    if (shared !== undefined) return shared;
    if (this.#loading.size >= (this.#options.loadLimit ?? 32)) return Promise.reject(new ZoneCacheBusy());
    const load = this.#read(name).then(
      (zone) => {
        if (this.#endLoad(name, load)) this.#store(name, zone);
        return zone;
      },
      (error: unknown) => {
        this.#endLoad(name, load);
        throw error;
      },
    );
    this.#loading.set(name, load);
    return load;
  }

  /** False when the zone was invalidated meanwhile. */
  #endLoad(name: string, load: Promise<ZoneTree | undefined>): boolean {
    return this.#loading.get(name) === load && this.#loading.delete(name);
  }

  async #read(name: string): Promise<ZoneTree | undefined> {
    const { db, nameservers } = this.#options;
    const zone = await findZone(db, name);
    if (zone === undefined || zone.isClosed || zone.isWithdrawn) return undefined;
    return buildZoneTree(await zoneContent(db, zone, nameservers));
  }

  #store(name: string, zone: ZoneTree | undefined): void {
    if (zone === undefined) this.#absent.set(name, true);
    else this.#zones.set(name, zone);
  }
}

/** Names that could be the zone's: two labels and more, the shortest first. */
function zoneNamesOf(name: string): string[] {
  const suffixes: string[] = [];
  for (let rest = name; rest !== ''; rest = parentOf(rest)) suffixes.unshift(rest);
  return suffixes.slice(1, MOST_ZONE_LABELS);
}
