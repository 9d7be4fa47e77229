/**
 * Commits the steps of an execution, one after the other, each with the frames that came before it. Its own frames are
 * shown once it is durable.
 */
import type { JsonObject } from '../../tables.ts';
import type { TurnAdvance } from '../store/advance-turn.ts';
import { type RunRow, renderUsage } from '../store/run-row.ts';
import type { TurnWriter } from '../store/turn-writer.ts';
import type { NewFrame } from '../timeline/frames.ts';
import type { LiveTurn } from '../timeline/live-turn.ts';
import { isSettled, LeaseLostError, type RunStatus } from '../turn.ts';
import { addBilled, expiryFrame } from './turn-records.ts';
import type { TurnState } from './turn-state.ts';

export interface Commit extends Omit<TurnAdvance, 'frames' | 'feed' | 'warnings' | 'status'> {
  readonly status: RunStatus;
  /** For the timeline. */
  readonly frames?: readonly NewFrame[];
  /** For the feed as well. */
  readonly feed?: readonly NewFrame[];
}

/**
 * A commit failed, or its outcome is unknown. The executor stops; the turn is taken over from what the store has.
 */
export class CommitFailedError extends Error {
  constructor(runId: string, cause: unknown) {
    super(`A step of run ${runId} could not be stored`, { cause });
    this.name = 'CommitFailedError';
  }
}

const CLOSING_TYPES: Partial<Record<RunStatus, string>> = {
  completed: 'run.completed',
  failed: 'run.failed',
  cancelled: 'run.cancelled',
};

export class TurnJournal {
  readonly #turns: TurnWriter;
  readonly #live: LiveTurn;
  readonly #state: TurnState;
  #last: Promise<unknown> = Promise.resolve();
  /** How many of the warnings the store has. */
  #storedWarnings: number;

  constructor(turns: TurnWriter, live: LiveTurn, state: TurnState) {
    this.#turns = turns;
    this.#live = live;
    this.#state = state;
    this.#storedWarnings = state.warnings.length;
  }

  /** Resolves when no commit is under way. */
  async idle(): Promise<void> {
    await this.#last;
  }

  /**
   * Commits in the order of the calls: parallel tool calls end when they like. Throws LeaseLostError when the turn is
   * another's, CommitFailedError when the store fails.
   */
  commit(commit: Commit): Promise<RunRow> {
    const next = this.#last.then(() => this.#commitNow(commit));
    this.#last = next.catch(() => undefined);
    return next;
  }

  async #commitNow({ frames = [], feed = [], ...advance }: Commit): Promise<RunRow> {
    Object.assign(this.#state.usage, addBilled(this.#state.usage, advance));
    const closing = [...this.#expiryFrames(advance.status), ...this.#closingFrame(advance)];
    if (this.#live.starting !== undefined) await this.#started(this.#live.starting);
    // The flush under way holds frames that come before these.
    await this.#live.flush;
    const pending = this.#live.takePending([...frames, ...closing]);
    const onFeed = [...feed, ...closing.filter(({ type }) => type !== 'run.cancelled')];
    // The commit says what the call cost, or that there will be none.
    const { budgets } = this.#state;
    const settlesBudgets =
      (budgets.heldMicros > 0 || budgets.hasLeftover) &&
      (advance.costMicros !== undefined || advance.status !== 'in_progress');
    const warnings = this.#state.warnings.slice(this.#storedWarnings);
    try {
      const row = await this.#turns.advance(this.#live.key, this.#state.actor, {
        ...advance,
        frames: pending.frames,
        feed: onFeed.map(({ type, data }) => ({ type, data: { ...this.#about(), ...data } })),
        warnings,
        releasesBudgets: settlesBudgets,
      });
      if (settlesBudgets) Object.assign(budgets, { heldMicros: 0, hasLeftover: false });
      this.#storedWarnings += warnings.length;
      pending.committed();
      return row;
    } catch (error) {
      pending.putBack();
      throw error instanceof LeaseLostError ? error : new CommitFailedError(this.#live.key.runId, error);
    }
  }

  /** A turn that could not be started is nobody's: whoever wanted it is told why. */
  async #started(starting: Promise<unknown>): Promise<void> {
    await starting.catch(() => {
      throw new LeaseLostError(this.#live.key.runId);
    });
  }

  /** A turn that ends has nobody to decide what was still open; the statement closes the rows. */
  #expiryFrames(status: RunStatus): NewFrame[] {
    if (!isSettled(status)) return [];
    return this.#state.openCalls.flatMap(({ status: open, approvalId }) =>
      open === 'approval' && approvalId !== undefined ? [expiryFrame(approvalId)] : [],
    );
  }

  /** The frame that ends the timeline, where the commit ends the turn. */
  #closingFrame({ status, error, stopReason }: Omit<TurnAdvance, 'frames'>): NewFrame[] {
    const type = CLOSING_TYPES[status];
    if (type === undefined) return [];
    if (status === 'failed') return [{ type, data: { error } }];
    const { usage, warnings } = this.#state;
    const data: JsonObject = {
      stop_reason: stopReason ?? null,
      usage: renderUsage(usage),
      ...(warnings.length === 0 ? {} : { warnings }),
    };
    return [{ type, data }];
  }

  /** Which run an event on the feed is about. */
  #about(): JsonObject {
    return { run_id: this.#live.key.runId, thread_id: this.#live.key.threadId };
  }
}
