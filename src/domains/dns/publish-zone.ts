/**
 * Makes what is served equal to a zone's rows, one call a zone at a time over all replicas.
 *
 *   change commits: version + 1 ──▶ lagging (published_version < version) ──▶ publish ──▶ published_version = version
 *                                        ▲                                       │ throws: failure is kept, tried later
 *                                        └───────────────────────────────────────┘
 *
 * What is published is what the rows hold when the call begins, so a burst of changes is published once. A zone that
 * is closed is removed from the publisher, and then its row is; one that is withdrawn keeps its row.
 */
import type { Database, Executor } from '../../kernel/db/database.ts';
import type { ZonePublisher } from './publisher.ts';
import { zoneContent } from './zone-content.ts';
import { findZone, type ZoneRow } from './zone-store.ts';

export interface PublishOptions {
  readonly db: Database;
  readonly publisher: ZonePublisher;
  /** The service's own, lower case. */
  readonly nameservers: readonly string[];
}

/** Another replica works on the zone. */
export const BUSY: unique symbol = Symbol('busy');

/** The longest text of a failure that is kept. */
const FAILURE_LENGTH = 500;

const queues = new WeakMap<Database, Map<string, Promise<unknown>>>();

/**
 * Runs `work` while nothing else, here or on another replica, publishes, signs or removes the zone. `BUSY` when another
 * replica does. `work` uses the executor that it is given, and no other.
 */
export async function withZoneLock<T>(
  db: Database,
  name: string,
  work: (executor: Executor) => Promise<T>,
): Promise<T | typeof BUSY> {
  const queue = queues.get(db) ?? new Map<string, Promise<unknown>>();
  queues.set(db, queue);
  const before = queue.get(name) ?? Promise.resolve();
  const turn = before.then(() => withReplicaLock(db, name, work));
  const settled = turn.catch(() => undefined);
  queue.set(name, settled);
  try {
    return await turn;
  } finally {
    if (queue.get(name) === settled) queue.delete(name);
  }
}

/** The embedded store has one process, and one connection, which must not wait for a publisher. */
async function withReplicaLock<T>(
  db: Database,
  name: string,
  work: (executor: Executor) => Promise<T>,
): Promise<T | typeof BUSY> {
  if (db.kind === 'embedded') return work(db);
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<{ held: boolean }>({
      text: `select pg_try_advisory_xact_lock(hashtextextended('domains.zone ' || $1, 0)) as held`,
      values: [name],
    });
    return rows[0]?.held === true ? work(tx) : BUSY;
  });
}

/**
 * Publishes the zone if it lags. Rejects with the publisher's error, which is kept in the zone's row as well; the zone
 * then lags until a later call succeeds.
 */
export async function publishZone(options: PublishOptions, name: string): Promise<'done' | typeof BUSY> {
  const { db } = options;
  try {
    return await withZoneLock(db, name, async (executor) => {
      const zone = await findZone(executor, name);
      if (zone !== undefined) await bringUpToDate(options, executor, zone);
      return 'done' as const;
    });
  } catch (error) {
    await keepFailure(db, name, error);
    throw error;
  }
}

/** Inside `withZoneLock`. */
export async function bringUpToDate(
  { publisher, nameservers }: PublishOptions,
  executor: Executor,
  zone: ZoneRow,
): Promise<void> {
  if (zone.isClosed) {
    await publisher.remove(zone.name);
    await removeClosedZone(executor, zone);
    return;
  }
  if (zone.publishedVersion >= zone.version) return;
  if (zone.isWithdrawn) await publisher.remove(zone.name);
  else await publisher.publish(await zoneContent(executor, zone, nameservers));
  await executor.query({
    text: `update domains.zones set published_version = $3, failure = null
      where workspace_id = $1 and domain_id = $2 and published_version < $3`,
    values: [zone.workspaceId, zone.domainId, zone.version],
  });
}

async function removeClosedZone(executor: Executor, zone: ZoneRow): Promise<void> {
  await executor.query({
    text: 'delete from domains.zones where workspace_id = $1 and domain_id = $2',
    values: [zone.workspaceId, zone.domainId],
  });
}

/**
 * Whether the publisher took anything is not known, so the zone lags. The new time puts it behind the others, so that
 * zones which fail keep none waiting.
 */
async function keepFailure(db: Database, name: string, error: unknown): Promise<void> {
  const message = error instanceof Error ? error.message : String(error);
  await db.query({
    text: `update domains.zones set failure = $2, updated_at = now(),
        published_version = least(published_version, version - 1)
      where name = $1`,
    values: [name, message.slice(0, FAILURE_LENGTH)],
  });
}
