/**
 * What one process of all does at a registry at a time: reading its messages, and refreshing names. Whoever has the lease does it; the
 * lease of one that has died lapses.
 */

import type { Clock } from '../../kernel/clock/clock.ts';
import type { Executor } from '../../kernel/db/database.ts';
import { asLook } from '../../kernel/db/looks.ts';
import { backoffMs } from '../../kernel/retry/backoff.ts';
import type { Duty } from '../tables.ts';
import { type SystemDb, systemDb } from '../workspace-scope.ts';

interface DutyOf {
  readonly registry: string;
  readonly duty: Duty;
}

/** Extended while it is worked on. */
const LEASE_MS = 60_000;
/** Between two looks into a queue in which there was nothing: doubled with each. */
const IDLE = { firstMs: 1_000, longestMs: 60_000 } as const;

/** The work on a duty. False: there was nothing to do. */
type Work = (held: HeldDuty) => Promise<boolean>;

interface HeldDuty {
  /** When it was due. */
  readonly dueAt: Date;
  /** To be asked before each step. False: another process has it by now. */
  isKept(): Promise<boolean>;
}

/**
 * Does it where it is due and nobody else does. After a pass that found nothing to do the next one is later, each time. Resolves with the
 * milliseconds until then, or until the lease of the process that does it ends.
 */
export async function doDuty(
  { clock, db }: { readonly db: Executor; readonly clock: Clock },
  duty: DutyOf,
  work: Work,
): Promise<number> {
  const store = systemDb(asLook(db));
  await makeOnce(db, duty, clock.now());
  const waitMs = await readWait(store, duty, clock.now());
  if (waitMs > 0) return waitMs;
  const claimed = await claim(store, duty, clock.now());
  // Another process was faster.
  if (claimed === undefined) return LEASE_MS;
  let { until } = claimed;
  let isIdle = false;
  let pauseMs = 0;
  const isKept = async () => {
    const now = clock.now();
    if (until.getTime() - now.getTime() > LEASE_MS / 2) return true;
    const next = new Date(now.getTime() + LEASE_MS);
    const kept = await save(store, duty, until, { lease_until: next });
    until = next;
    return kept;
  };
  try {
    isIdle = !(await work({ dueAt: claimed.dueAt, isKept }));
  } finally {
    const idleCount = isIdle ? claimed.idleCount + 1 : 0;
    pauseMs = isIdle ? backoffMs(idleCount, IDLE) : 0;
    const dueAt = new Date(clock.now().getTime() + pauseMs);
    await save(store, duty, until, { lease_until: null, due_at: dueAt, idle_count: idleCount });
  }
  return pauseMs;
}

/** The duties whose rows are there. */
const made = new WeakMap<Executor, Set<string>>();

async function makeOnce(db: Executor, { duty, registry }: DutyOf, now: Date): Promise<void> {
  const known = made.get(db) ?? new Set();
  made.set(db, known);
  if (known.has(`${duty} ${registry}`)) return;
  await systemDb(db)
    .insertInto('registry_duties')
    .values({ registry, duty, lease_until: null, due_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  known.add(`${duty} ${registry}`);
}

/** Milliseconds; 0: it is due, and nobody does it. */
async function readWait(store: SystemDb, { duty, registry }: DutyOf, now: Date): Promise<number> {
  const { due_at, lease_until } = await store
    .selectFrom('registry_duties')
    .where('registry', '=', registry)
    .where('duty', '=', duty)
    .select(['due_at', 'lease_until'])
    .executeTakeFirstOrThrow();
  return Math.max(0, due_at.getTime() - now.getTime(), (lease_until?.getTime() ?? 0) - now.getTime());
}

async function claim(store: SystemDb, { duty, registry }: DutyOf, now: Date) {
  const until = new Date(now.getTime() + LEASE_MS);
  const row = await store
    .updateTable('registry_duties')
    .set({ lease_until: until })
    .where('registry', '=', registry)
    .where('duty', '=', duty)
    .where('due_at', '<=', now)
    .where((where) => where.or([where('lease_until', 'is', null), where('lease_until', '<=', now)]))
    .returning(['due_at', 'idle_count'])
    .executeTakeFirst();
  return row === undefined ? undefined : { until, dueAt: row.due_at, idleCount: row.idle_count };
}

interface Change {
  readonly lease_until: Date | null;
  readonly due_at?: Date;
  readonly idle_count?: number;
}

/** False: this process has no lease any more, and nothing is changed. */
async function save(store: SystemDb, { duty, registry }: DutyOf, until: Date, change: Change): Promise<boolean> {
  const saved = await store
    .updateTable('registry_duties')
    .set(change)
    .where('registry', '=', registry)
    .where('duty', '=', duty)
    .where('lease_until', '=', until)
    .executeTakeFirst();
  return saved.numUpdatedRows > 0n;
}

/** Something is about to happen at the registry: its messages are read now, and as often as at first. */
export async function expectMessages(db: Executor, registry: string, now: Date): Promise<void> {
  await systemDb(db)
    .updateTable('registry_duties')
    .set({ due_at: now, idle_count: 0 })
    .where('registry', '=', registry)
    .where('duty', '=', 'messages')
    .where('due_at', '>', now)
    .execute();
}
