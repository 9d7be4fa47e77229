/**
 * Deliveries that wait, begun by this replica: a smith's one after the other, at most MAX_STARTS together.
 *
 *   queued ──claim──▶ queued, leased ──turn begun──▶ started
 *     ▲                    │     ├──── none can begin ──▶ failed
 *     └── busy, full, or lease over
 */
import { setImmediate as nextTick } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Database } from '../../kernel/db/database.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';
import type { Engine } from '../engine/index.ts';
import { judgeFailure } from './fire-outcome.ts';
import {
  type ClaimedQueue,
  claimQueues,
  type QueuedFire,
  readOldest,
  resumeQueues,
  type SettledQueue,
  settleQueues,
} from './queue-store.ts';
import { startFire } from './start-fire.ts';

const MAX_STARTS = 32;
/** Room for fewer than these is not worth a look. */
const MIN_CLAIM = 16;
/** Of turns that this replica has begun and that go on: memory is what each takes. */
const MAX_TURNS = 1_000;
/** Of a project that is full, no more is tried for so long than turns of it have ended here. */
const FULL_MS = 500;
/** Failures in a row, of a database that answers, until a delivery is given up. */
const MAX_FAILURES = 10;
/** Claims that nobody settled, as whoever starts the delivery dies of it. */
const MAX_CLAIMS = 5;
/** Smiths that were busy and are remembered, so that the end of a turn wakes them; and those whose turns have ended last. */
const MAX_REMEMBERED = 50_000;
const MAX_RESTED = 10_000;

const GIVEN_UP = {
  code: 'internal_error',
  message:
    'The turn could not be begun, several times in a row. Run the schedule again, and report it if that fails too.',
};

export interface DispatcherDependencies {
  readonly db: Database;
  readonly engine: Engine;
  readonly now: () => Date;
  readonly logger: { warn(fields: object, message: string): void };
  readonly metrics: Metrics;
  /** There is room for more, or something is due. */
  readonly wake: () => void;
}

/** A project that had no place left for a run on this replica. */
interface FullProject {
  /** When it is tried again in any case, by a clock that only goes forward. */
  readonly untilMs: number;
  /** Turns of it that have come to rest here since. */
  freed: number;
}

type Owner = { readonly projectId: string; readonly smithId: string };

export class Dispatcher {
  readonly #deps: DispatcherDependencies;
  readonly #starting = new Set<Promise<void>>();
  readonly #full = new Map<string, FullProject>();
  readonly #busy = new Map<string, Owner>();
  /** When a turn of a smith last came to rest here, by a clock that only goes forward. */
  readonly #rested = new LRUCache<string, number>({ max: MAX_RESTED });
  readonly #freed = new Map<string, Owner>();
  readonly #lag: ReturnType<Metrics['histogram']>;
  #turns = 0;
  #after = '';
  #settling: Promise<void> | undefined;
  #resuming: Promise<void> | undefined;
  #settled: SettledQueue[] = [];

  constructor(deps: DispatcherDependencies) {
    this.#deps = deps;
    this.#lag = deps.metrics.histogram(
      'schedule_lag_seconds',
      'Time from when a delivery of a schedule was due until its turn began or was refused, by outcome: started or failed',
      ['outcome'],
    );
  }

  /** Begins what waits, as far as there is room. */
  async dispatch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const limit = Math.min(MAX_STARTS - this.#starting.size, MAX_TURNS - this.#turns);
      if (limit < MIN_CLAIM) return;
      const from = this.#after;
      const lookedMs = performance.now();
      const { queues, next } = await claimQueues(this.#deps.db, {
        now: this.#deps.now(),
        after: from,
        allowed: this.#takeAllowed(),
        limit,
      });
      for (const queue of queues) if (queue.is_busy) this.#waitFor(queue, lookedMs);
      await this.#beginOldest(queues.filter(({ is_busy }) => !is_busy));
      this.#after = next;
      // From the first project to the last nothing is due that may be begun.
      if (queues.length === 0 && from === '' && next === '') return;
    }
  }

  /** A turn has come to rest here: what waits for its smith, or for room in its project, is tried at once. */
  turnRested(owner: Owner): void {
    const full = this.#full.get(owner.projectId);
    if (full !== undefined) full.freed += 1;
    const key = keyOf(owner.projectId, owner.smithId);
    this.#rested.set(key, performance.now());
    if (this.#busy.delete(key)) this.#resume(key, owner);
    if (full !== undefined) this.#deps.wake();
  }

  /** Waits for the starts under way; turns that have begun are the engine's. */
  async drain(): Promise<void> {
    while (this.#starting.size > 0 || this.#settling !== undefined || this.#resuming !== undefined) {
      await Promise.all([...this.#starting, this.#settling, this.#resuming]);
    }
  }

  async #beginOldest(queues: readonly ClaimedQueue[]): Promise<void> {
    if (queues.length === 0) return;
    const fires = await readOldest(this.#deps.db, queues);
    const bySmith = new Map(fires.map((fire) => [keyOf(fire.project_id, fire.smith_id), fire]));
    for (const queue of queues) this.#begin(queue, bySmith.get(keyOf(queue.project_id, queue.smith_id)));
  }

  #begin(queue: ClaimedQueue, fire: QueuedFire | undefined): void {
    this.#busy.delete(keyOf(queue.project_id, queue.smith_id));
    const startedMs = performance.now();
    const done = this.#attempt(queue, fire)
      .then(async (settled) => {
        await this.#settle(settled);
        if (settled.next === 'busy') this.#waitFor(queue, startedMs);
      })
      .catch((error: unknown) => {
        this.#deps.logger.warn({ err: error, delivery: fire?.id }, 'a delivery was not settled; its lease ends');
      })
      .finally(() => {
        this.#starting.delete(done);
        if (this.#starting.size <= MAX_STARTS - MIN_CLAIM) this.#deps.wake();
      });
    this.#starting.add(done);
  }

  async #attempt(queue: ClaimedQueue, fire: QueuedFire | undefined): Promise<SettledQueue> {
    const { project_id, smith_id, version } = queue;
    const waits = { project_id, smith_id, version, ...NOTHING };
    if (fire === undefined) return { ...waits, next: 'empty' };
    const ended = { ...waits, fire_id: fire.id, schedule_id: fire.schedule_id, next: nextOf(fire) };
    if (queue.claims > MAX_CLAIMS) return this.#giveUp(ended, fire, undefined);
    try {
      const { segment, live } = await startFire(this.#deps.engine, fire, queue.claims > 1 || queue.failures > 0);
      this.#countTurn(live?.done);
      this.#observe('started', fire);
      return { ...ended, status: 'started', run_id: segment.run.id };
    } catch (error) {
      const failure = judgeFailure(error);
      switch (failure.kind) {
        case 'busy':
          return { ...waits, next: 'busy' };
        case 'full':
          this.#full.set(project_id, { untilMs: performance.now() + FULL_MS, freed: 0 });
          return { ...waits, next: 'due' };
        case 'failed':
          if (queue.failures >= MAX_FAILURES && !failure.isUnavailable) return this.#giveUp(ended, fire, error);
          this.#deps.logger.warn({ err: error, delivery: fire.id }, 'a turn could not be begun; it is tried again');
          return { ...waits, next: 'failed' };
        case 'refused':
          this.#observe('failed', fire);
          return { ...ended, status: 'failed', error: failure.error };
      }
    }
  }

  #giveUp(ended: Omit<SettledQueue, 'status'>, fire: QueuedFire, error: unknown): SettledQueue {
    this.#deps.logger.warn({ err: error, delivery: fire.id, schedule: fire.schedule_id }, 'a delivery is given up');
    this.#observe('failed', fire);
    return { ...ended, status: 'failed', error: GIVEN_UP };
  }

  #observe(outcome: 'started' | 'failed', { due_at }: QueuedFire): void {
    this.#lag.observe({ outcome }, Math.max(0, this.#deps.now().getTime() - due_at.getTime()) / 1_000);
  }

  #countTurn(done: Promise<unknown> | undefined): void {
    if (done === undefined) return;
    this.#turns += 1;
    void done.finally(() => {
      this.#turns -= 1;
      if (this.#turns === MAX_TURNS - MIN_CLAIM) this.#deps.wake();
    });
  }

  /** A smith was busy when it was looked at. The end of its turn may have come between the look and now. */
  #waitFor({ project_id: projectId, smith_id: smithId }: ClaimedQueue, lookedMs: number): void {
    const key = keyOf(projectId, smithId);
    if ((this.#rested.get(key) ?? 0) >= lookedMs) this.#resume(key, { projectId, smithId });
    else if (this.#busy.size < MAX_REMEMBERED) this.#busy.set(key, { projectId, smithId });
  }

  #resume(key: string, owner: Owner): void {
    this.#freed.set(key, owner);
    this.#resuming ??= this.#resumeFreed().finally(() => {
      this.#resuming = undefined;
    });
  }

  #takeAllowed(): ReadonlyMap<string, number> {
    const nowMs = performance.now();
    const allowed = new Map<string, number>();
    for (const [project, full] of this.#full) {
      if (full.untilMs <= nowMs) this.#full.delete(project);
      else allowed.set(project, full.freed);
      full.freed = 0;
    }
    return allowed;
  }

  async #settle(settled: SettledQueue): Promise<void> {
    this.#settled.push(settled);
    this.#settling ??= this.#settleAll().finally(() => {
      this.#settling = undefined;
    });
    await this.#settling;
  }

  /** One statement for what ended together, until nothing is left. */
  async #settleAll(): Promise<void> {
    await nextTick();
    while (this.#settled.length > 0) {
      const settled = this.#settled;
      this.#settled = [];
      await settleQueues(this.#deps.db, settled, this.#deps.now());
    }
  }

  async #resumeFreed(): Promise<void> {
    await nextTick();
    while (this.#freed.size > 0) {
      const owners = [...this.#freed.values()];
      this.#freed.clear();
      await resumeQueues(this.#deps.db, owners, this.#deps.now()).catch((error: unknown) => {
        this.#deps.logger.warn({ err: error }, 'smiths that are free were not told; they are looked at in a while');
      });
      this.#deps.wake();
    }
  }
}

const NOTHING = {
  schedule_id: undefined,
  status: undefined,
  fire_id: undefined,
  run_id: undefined,
  error: undefined,
} as const;

/** What comes behind a delivery that is settled. */
function nextOf({ has_next }: QueuedFire): SettledQueue['next'] {
  return has_next ? 'due' : 'empty';
}

function keyOf(projectId: string, smithId: string): string {
  return `${projectId}/${smithId}`;
}
