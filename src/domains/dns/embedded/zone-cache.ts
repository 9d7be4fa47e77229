/**
 * Zones in memory, the ones asked for last. A zone is read once however many ask for it; a change of it, told by a wake-up
 * after its commit, drops it. That a name has no zone is remembered too: whoever makes up names must not reach the store.
 */
import type { Database } from '../../../kernel/db/database.ts';
import { zoneContent } from '../zone-content.ts';
import { findZone } from '../zone-store.ts';
import { buildZoneTree, parentOf, type ZoneTree } from './zone-tree.ts';

export interface ZoneCacheOptions {
  readonly db: Database;
  readonly nameservers: readonly string[];
  /** Bytes of zones that are kept, roughly. Default 64 MiB. */
  readonly sizeLimit?: number;
  /** Names without a zone that are remembered. Default 50,000. */
  readonly absentLimit?: number;
  /** Zones that are read at a time; who would need one more gets no answer. Default 32. */
  readonly loadLimit?: number;
}

/** Too many zones are being read already. */
export class ZoneCacheBusy extends Error {}

/** Names are registered under suffixes of at most four labels. */
const MOST_ZONE_LABELS = 5;

export class ZoneCache {
  readonly #options: ZoneCacheOptions;
  readonly #zones = new Map<string, ZoneTree>();
  readonly #absent = new Set<string>();
  readonly #loading = new Map<string, Promise<ZoneTree | undefined>>();
  #size = 0;

  constructor(options: ZoneCacheOptions) {
    this.#options = options;
  }

  /**
   * The zone that the name lies in: at once where it is known, undefined where there is none. Rejects with ZoneCacheBusy,
   * and with the store's errors. Registered names do not lie within each other, so the shortest that is a zone is it.
   */
  find(name: string): ZoneTree | undefined | Promise<ZoneTree | undefined> {
    for (const candidate of zoneNamesOf(name)) {
      const zone = this.#zones.get(candidate);
      if (zone !== undefined) return this.#use(zone);
      if (!this.#absent.has(candidate)) return this.#loadFirst(name);
    }
    return undefined;
  }

  /** The zone has changed, or is none any more, or is one now. */
  forget(name: string): void {
    this.#absent.delete(name);
    // Whoever awaits it gets what there was; it is not kept.
    this.#loading.delete(name);
    this.#drop(name);
  }

  forgetAll(): void {
    this.#zones.clear();
    this.#absent.clear();
    this.#loading.clear();
    this.#size = 0;
  }

  async #loadFirst(name: string): Promise<ZoneTree | undefined> {
    for (const candidate of zoneNamesOf(name)) {
      if (this.#absent.has(candidate)) continue;
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
        if (this.#settle(name, load)) this.#keep(name, zone);
        return zone;
      },
      (error: unknown) => {
        this.#settle(name, load);
        throw error;
      },
    );
    this.#loading.set(name, load);
    return load;
  }

  /** False when the zone was forgotten meanwhile. */
  #settle(name: string, load: Promise<ZoneTree | undefined>): boolean {
    return this.#loading.get(name) === load && this.#loading.delete(name);
  }

  async #read(name: string): Promise<ZoneTree | undefined> {
    const { db, nameservers } = this.#options;
    const zone = await findZone(db, name);
    if (zone === undefined || zone.isClosed) return undefined;
    return buildZoneTree(await zoneContent(db, zone, nameservers));
  }

  #keep(name: string, zone: ZoneTree | undefined): void {
    if (zone === undefined) {
      this.#absent.add(name);
      evictFirst(this.#absent, this.#options.absentLimit ?? 50_000);
      return;
    }
    this.#zones.set(name, zone);
    this.#size += zone.size;
    const limit = this.#options.sizeLimit ?? 64 * 1024 * 1024;
    for (const oldest of this.#zones.keys()) {
      if (this.#size <= limit || oldest === name) break;
      this.#drop(oldest);
    }
  }

  /** Last in the map: used last. */
  #use(zone: ZoneTree): ZoneTree {
    this.#zones.delete(zone.name);
    this.#zones.set(zone.name, zone);
    return zone;
  }

  #drop(name: string): void {
    const zone = this.#zones.get(name);
    if (zone === undefined) return;
    this.#zones.delete(name);
    this.#size -= zone.size;
  }
}

function evictFirst(set: Set<string>, limit: number): void {
  for (const oldest of set) {
    if (set.size <= limit) return;
    set.delete(oldest);
  }
}

/** Names that could be the zone's: two labels and more, the shortest first. */
function zoneNamesOf(name: string): string[] {
  const suffixes: string[] = [];
  for (let rest = name; rest !== ''; rest = parentOf(rest)) suffixes.unshift(rest);
  return suffixes.slice(1, MOST_ZONE_LABELS);
}
