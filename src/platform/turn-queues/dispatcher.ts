/**
 * Turns that wait in queues, begun by this replica: those of a queue one after the other, at most `maxStarts` together. What
 * a queue is, and what is in it, its owner says (`TurnQueues`).
 *
 *   due ──claim──▶ leased ──turn begun, or none can begin──▶ settled: due again while more waits
 *    ▲               │
 *    └── busy, full, failed, or lease over
 */
import { LRUCache } from 'lru-cache';
import { elapsedMs } from '../../kernel/clock/timers.ts';
import { createBatcher } from '../../kernel/event-loop/batcher.ts';
import { earliestOf, millisecondsUntil } from '../../kernel/periodic/next-due.ts';
import type { Claim, ClaimedQueue, ClaimRequest, QueueOwner } from './claim-queues.ts';

/** Room for fewer turns than these is not worth a look. */
const MIN_TURNS = 16;
/** Of turns that this replica has begun and that go on: memory is what each takes. */
const MAX_TURNS = 1_000;
/** Of a project that is full, no more is tried for so long than turns of it have ended here. */
const FULL_MS = 500;
/** Smiths that were busy and are remembered, so that the end of a turn wakes them; and those whose turns have ended last. */
const MAX_REMEMBERED = 50_000;
const MAX_RESTED = 10_000;

/** What has come of a claimed queue. */
export interface Attempted<Settled> {
  /** Undefined: it stays claimed, and is settled by whoever goes on with it. */
  readonly settled: Settled | undefined;
  /** `busy`: the smith has a turn in progress. `full`: the project has as many as it may. */
  readonly outcome: 'begun' | 'busy' | 'full' | 'other';
  /** Of a turn that this replica executes: its end. */
  readonly done?: Promise<unknown> | undefined;
  /** Once it is settled. */
  readonly onSettled?: (() => void) | undefined;
}

/** The queues of one kind: where they are, and how their turns are begun. */
export interface TurnQueues<Queue extends ClaimedQueue, Settled> {
  claim(request: ClaimRequest): Promise<Claim<Queue>>;
  /** Reads what waits in claimed queues; gives how each is attempted, which throws where its lease is to end by itself. */
  read(queues: readonly Queue[]): Promise<(queue: Queue) => Promise<Attempted<Settled>>>;
  settle(settled: readonly Settled[]): Promise<void>;
  /** Has the queues of these smiths looked at now. */
  resume(owners: readonly QueueOwner[]): Promise<void>;
}

export interface DispatcherDependencies<Queue extends ClaimedQueue, Settled> {
  readonly queues: TurnQueues<Queue, Settled>;
  /** Turns that are being begun together. A look is made once there is room for half of them. */
  readonly maxStarts: number;
  readonly logger: { warn(fields: object, message: string): void };
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

export class Dispatcher<Queue extends ClaimedQueue, Settled> {
  readonly #deps: DispatcherDependencies<Queue, Settled>;
  readonly #now: () => Date;
  readonly #starting = new Set<Promise<void>>();
  readonly #full = new Map<string, FullProject>();
  readonly #busy = new Map<string, QueueOwner>();
  /** When a turn of a smith last came to rest here, by a clock that only goes forward. */
  readonly #rested = new LRUCache<string, number>({ max: MAX_RESTED });
  readonly #resuming = new Set<Promise<void>>();
  readonly #settle: (settled: Settled) => Promise<void>;
  readonly #resume: (owner: QueueOwner) => Promise<void>;
  #turns = 0;
  #after = '';
  /** A look ended for want of room. */
  #isCrowded = false;

  constructor(deps: DispatcherDependencies<Queue, Settled>, now: () => Date) {
    this.#deps = deps;
    this.#now = now;
    // One statement for what ends together.
    this.#settle = createBatcher(async (settled) => {
      await deps.queues.settle(settled);
      return [];
    });
    this.#resume = createBatcher(async (owners) => {
      await deps.queues.resume([...new Map(owners.map((owner) => [keyOf(owner), owner])).values()]);
      deps.wake();
      return [];
    });
  }

  /** Whether what comes now is begun at once. */
  get hasRoom(): boolean {
    return this.#hasRoomForStarts && this.#hasRoomForTurns;
  }

  get #hasRoomForStarts(): boolean {
    return this.#starting.size <= this.#deps.maxStarts / 2;
  }

  get #hasRoomForTurns(): boolean {
    return MAX_TURNS - this.#turns >= MIN_TURNS;
  }

  /** Begins what waits, as far as there is room. The milliseconds until more is due, where that is known. */
  async dispatch(signal: AbortSignal): Promise<number | undefined> {
    let dueAt: Date | undefined;
    while (!signal.aborted) {
      if (!this.hasRoom) {
        this.#isCrowded = true;
        break;
      }
      const limit = Math.min(this.#deps.maxStarts - this.#starting.size, MAX_TURNS - this.#turns);
      const from = this.#after;
      const lookedMs = performance.now();
      const request = { now: this.#now(), after: from, allowed: this.#takeAllowed(), limit };
      const { queues, next, dueAt: nextDueAt } = await this.#deps.queues.claim(request);
      dueAt = earliestOf([dueAt, nextDueAt]);
      for (const queue of queues) if (queue.is_busy) this.#waitFor(queue, lookedMs);
      await this.#begin(queues.filter(({ is_busy }) => !is_busy));
      this.#after = next;
      // From the first project to the last nothing more is due that may be begun.
      if (queues.length < limit && from === '' && next === '') break;
    }
    return millisecondsUntil(dueAt, this.#now());
  }

  /** A turn has come to rest here: what waits for its smith, or for room in its project, is tried at once. */
  turnRested({ projectId, smithId }: QueueOwner): void {
    const full = this.#full.get(projectId);
    if (full !== undefined) full.freed += 1;
    const key = keyOf({ projectId, smithId });
    this.#rested.set(key, performance.now());
    if (this.#busy.delete(key)) this.#resumeQueuesOf({ projectId, smithId });
    if (full !== undefined) this.#deps.wake();
  }

  /** Waits for the starts under way; turns that have begun are the engine's. */
  async drain(): Promise<void> {
    while (this.#starting.size > 0 || this.#resuming.size > 0)
      await Promise.all([...this.#starting, ...this.#resuming]);
  }

  async #begin(queues: readonly Queue[]): Promise<void> {
    if (queues.length === 0) return;
    const attempt = await this.#deps.queues.read(queues);
    for (const queue of queues) this.#attempt(queue, attempt(queue));
  }

  #attempt(queue: Queue, attempt: Promise<Attempted<Settled>>): void {
    const { project_id: projectId, smith_id: smithId } = queue;
    if (smithId !== null) this.#busy.delete(keyOf({ projectId, smithId }));
    const startedMs = performance.now();
    const done = attempt
      .then(async ({ settled, outcome, done: turn, onSettled }) => {
        if (outcome === 'full') this.#full.set(projectId, { untilMs: elapsedMs() + FULL_MS, freed: 0 });
        this.#countTurn(turn);
        if (settled !== undefined) await this.#settle(settled);
        if (outcome === 'busy') this.#waitFor(queue, startedMs);
        onSettled?.();
      })
      .catch((error: unknown) => {
        this.#deps.logger.warn({ err: error, projectId, smithId }, 'a queue was not settled; its lease ends');
      })
      .finally(() => {
        this.#starting.delete(done);
        if (this.#isCrowded && this.#hasRoomForStarts) this.#goOn();
      });
    this.#starting.add(done);
  }

  #countTurn(done: Promise<unknown> | undefined): void {
    if (done === undefined) return;
    this.#turns += 1;
    void done.finally(() => {
      this.#turns -= 1;
      if (this.#isCrowded && this.#hasRoomForTurns) this.#goOn();
    });
  }

  #goOn(): void {
    this.#isCrowded = false;
    this.#deps.wake();
  }

  /** A smith was busy when it was looked at. The end of its turn may have come between the look and now. */
  #waitFor({ project_id: projectId, smith_id: smithId }: Queue, lookedMs: number): void {
    if (smithId === null) return;
    const owner = { projectId, smithId };
    const key = keyOf(owner);
    if ((this.#rested.get(key) ?? 0) >= lookedMs) this.#resumeQueuesOf(owner);
    else if (this.#busy.size < MAX_REMEMBERED) this.#busy.set(key, owner);
  }

  #resumeQueuesOf(owner: QueueOwner): void {
    const done = this.#resume(owner)
      .catch((error: unknown) => {
        this.#deps.logger.warn({ err: error }, 'smiths that are free were not told; they are looked at in a while');
      })
      .finally(() => this.#resuming.delete(done));
    this.#resuming.add(done);
  }

  #takeAllowed(): ReadonlyMap<string, number> {
    const nowMs = elapsedMs();
    const allowed = new Map<string, number>();
    for (const [project, full] of this.#full) {
      if (full.untilMs <= nowMs) this.#full.delete(project);
      else allowed.set(project, full.freed);
      full.freed = 0;
    }
    return allowed;
  }
}

function keyOf({ projectId, smithId }: QueueOwner): string {
  return `${projectId}/${smithId}`;
}
