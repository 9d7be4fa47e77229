/**
 * Keeps this replica's lease on its turns alive while it holds something, and rests otherwise:
 *
 *   resting ──during, hold──▶ beating, every HEARTBEAT_MS ──nothing held, and no turn for LINGER_MS──▶ resting
 *
 * The row says which (`replicas.resting`). Every statement that makes a run this replica's goes through `during`, so that a heartbeat
 * that the lease allows is in the store before the run is. All writes of the row are passes of one worker and so never overlap: work
 * that begins while the row is set to rest waits for that, and then for a heartbeat.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { elapsedMs } from '../../../kernel/clock/timers.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { isStorageFault } from '../../../kernel/http/storage-faults.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { createPeriodicWorker, type PeriodicWorker } from '../../../kernel/periodic/periodic-worker.ts';
import { HEARTBEAT_MS, LEASE_SECONDS, removeSilentReplicas, restReplica, sendHeartbeat } from '../store/replica.ts';

/** Turns often follow each other: a replica that has just ended one goes on beating for so long. */
const LINGER_MS = 5_000;
/** A heartbeat sent so long ago leaves time to store a run under it. */
const FRESH_MS = LEASE_SECONDS * 1_000 - 2 * HEARTBEAT_MS;
const CLEANUP_MS = 600_000;

export interface Heartbeat {
  start(): void;
  /**
   * Does the work under a lease: after a heartbeat, and while they go on. Without a statement of its own while heartbeats are fresh. Not to
   * be called in a transaction. Throws `service_overloaded` after the stop.
   */
  during<Result>(work: () => Promise<Result>): Promise<Result>;
  /**
   * Has heartbeats sent until the returned function is called, without waiting for the first. For work that has no lease: if the replica
   * ends meanwhile, that is an abrupt end.
   */
  hold(): () => void;
  /** Resolves once no more are sent. */
  stop(): Promise<void>;
}

export interface HeartbeatDependencies {
  readonly db: Database;
  readonly logger: Logger;
  readonly replicaId: string;
  /** Whether this replica executes turns or holds questions. */
  readonly holdsTurns: () => boolean;
  /** The replica beats after a rest: others have to watch it. */
  readonly onActive: () => void;
  /** The store has a turn of this replica that it does not execute, or may have one. */
  readonly onLostTurn: () => void;
}

export function createHeartbeat(deps: HeartbeatDependencies): Heartbeat {
  return new ReplicaHeartbeat(deps);
}

class ReplicaHeartbeat implements Heartbeat {
  readonly #deps: HeartbeatDependencies;
  readonly #worker: PeriodicWorker;
  /** On the clock of the engine, whoever asks. */
  readonly #nowMs = AsyncLocalStorage.bind(elapsedMs);
  #isStopped = false;
  /** Works under way that need a lease. */
  #works = 0;
  #holds = 0;
  /** When a turn was last under way or held. */
  #lastTurnMs = Number.NEGATIVE_INFINITY;
  /** When the last heartbeat was sent: the store's time of it is no earlier. */
  #sentMs = Number.NEGATIVE_INFINITY;
  /** The row says so: it was registered like this. */
  #isResting = true;
  /** Other replicas have been told of this one since its last rest. */
  #isAnnounced = false;
  /** A statement may have been carried out whose answer was lost. */
  #mayHaveLostTurn = false;
  #freshening: Promise<void> | undefined;

  constructor(deps: HeartbeatDependencies) {
    this.#deps = deps;
    this.#worker = createPeriodicWorker({
      name: 'heartbeat',
      startsAtOnce: false,
      // A lease outlasts a few missed heartbeats, not a longer wait.
      backoff: { firstMs: HEARTBEAT_MS, longestMs: HEARTBEAT_MS },
      logger: deps.logger,
      pass: () => this.#pass(),
    });
  }

  start(): void {
    this.#worker.start();
    // Of what began before.
    if (this.#holds > 0 || !this.#isResting) this.#worker.wake();
  }

  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#works += 1;
    try {
      while (!this.#isFresh()) await this.#freshen();
      return await work();
    } catch (error) {
      this.#mayHaveLostTurn ||= isStorageFault(error);
      throw error;
    } finally {
      this.#works -= 1;
      this.#lastTurnMs = this.#nowMs();
    }
  }

  hold(): () => void {
    this.#holds += 1;
    // Also while the row is being set to rest.
    if (this.#sentMs === Number.NEGATIVE_INFINITY) this.#worker.wake();
    let isHeld = true;
    return () => {
      if (isHeld) this.#holds -= 1;
      isHeld = false;
    };
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#worker.stop();
  }

  #isFresh(): boolean {
    if (this.#isStopped) {
      throw new ApiError('service_overloaded', {
        retryAfterSeconds: 1,
        message: 'This server is going away. Try again.',
      });
    }
    return this.#nowMs() - this.#sentMs < FRESH_MS;
  }

  /** One pass for all who wait. The one under way may be a rest, so that they have to look again. */
  #freshen(): Promise<void> {
    if (this.#freshening === undefined) {
      this.#worker.wake();
      this.#freshening = this.#worker.runPass().finally(() => {
        this.#freshening = undefined;
      });
    }
    return this.#freshening;
  }

  /** Resolves with the wait until the next one; with none once the row says that the replica rests. */
  async #pass(): Promise<number | undefined> {
    if (this.#isNeeded()) await this.#beat();
    else if (!this.#isResting) await this.#rest();
    return this.#isResting ? undefined : HEARTBEAT_MS;
  }

  #isNeeded(): boolean {
    if (this.#works > 0 || this.#deps.holdsTurns()) this.#lastTurnMs = this.#nowMs();
    return this.#holds > 0 || this.#nowMs() - this.#lastTurnMs < LINGER_MS;
  }

  async #beat(): Promise<void> {
    const { db, replicaId, onActive, onLostTurn } = this.#deps;
    const sentMs = this.#nowMs();
    // Also where the answer is lost.
    this.#isResting = false;
    await sendHeartbeat(db, replicaId);
    this.#sentMs = sentMs;
    if (!this.#isAnnounced) onActive();
    this.#isAnnounced = true;
    // Here, as the store answers again.
    if (this.#mayHaveLostTurn) onLostTurn();
    this.#mayHaveLostTurn = false;
  }

  async #rest(): Promise<void> {
    const { db, replicaId, onLostTurn } = this.#deps;
    // From here on whoever needs a lease waits for the next heartbeat.
    this.#sentMs = Number.NEGATIVE_INFINITY;
    if (await restReplica(db, replicaId)) {
      this.#isResting = true;
      this.#isAnnounced = false;
      return;
    }
    onLostTurn();
    await this.#beat();
  }
}

/** Removes the rows of replicas that are long gone. One that only rests has its row again with its next heartbeat. */
export function createReplicaCleanup(db: Database, logger: Logger): PeriodicWorker {
  return createPeriodicWorker({
    name: 'replica cleanup',
    intervalMs: CLEANUP_MS,
    logger,
    pass: () => removeSilentReplicas(db),
  });
}
