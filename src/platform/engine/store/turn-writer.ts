/**
 * Writes the starts and the steps of this replica's turns. Those of one project that come in the same moment, or while a
 * statement of its kind is under way, go in one statement: what a turn costs the store falls as the load grows, and one
 * that is alone waits for nobody. Each is answered for itself.
 */
import type { Database } from '../../../kernel/db/database.ts';
import { wasRolledBack } from '../../../kernel/db/sql-errors.ts';
import { type BatchLimits, createKeyedBatcher } from '../../../kernel/event-loop/batcher.ts';
import type { DrawTerms } from '../../billing/index.ts';
import type { Actor } from '../../tables.ts';
import { LeaseLostError, type TurnKey } from '../turn.ts';
import { advanceTurns, describeStep, type TurnAdvance, type TurnStep } from './advance-turn.ts';
import type { RunRow } from './run-row.ts';
import {
  conversationLocked,
  describeStart,
  type NewTurn,
  type StartingTurn,
  startTurn,
  startTurns,
  type TurnStart,
} from './start-turn.ts';

/** Longer statements hold up more turns than they save. */
const MAX_TURNS = 32;
/** Characters of JSON: what is larger is parsed for longer than a statement of its own takes. */
const MAX_CHARS = 256 * 1024;
/** A statement that waits for a lock does not hold up the project's other turns. */
const PATIENCE_MS = 20;

export interface TurnWriter {
  /** Throws `conversation_locked` while another turn of the smith is in progress. */
  start(turn: NewTurn): Promise<TurnStart>;
  /** Commits the step. Returns the run as it is now; throws LeaseLostError when the turn is no longer this replica's. */
  advance(key: TurnKey, actor: Actor | null, advance: TurnAdvance): Promise<RunRow>;
}

/** `draw`: what steps cost is drawn from the wallet. */
export function createTurnWriter(db: Database, replicaId: string, draw: DrawTerms | undefined): TurnWriter {
  const start = createKeyedBatcher(
    (_, turns: readonly StartingTurn[]) => together(turns, (some) => startTurns(db, some)),
    limitedBy(({ row, input, config, messages, requests }: StartingTurn) =>
      [row, input, config, messages, requests].reduce((chars, { length }) => chars + length, 0),
    ),
  );
  const advance = createKeyedBatcher(
    (projectId, steps: readonly TurnStep[]) =>
      together(steps, (some) => advanceTurns(db, { projectId, replicaId, draw }, some)),
    limitedBy<TurnStep>(({ row }) => row.length),
  );
  return {
    async start(turn) {
      // Those that reserve of a budget are judged one by one.
      if (turn.reservation !== undefined) return startTurn(db, turn);
      const started = unwrap(await start(`${turn.run.project_id} ${turn.asyncCommit}`, await describeStart(turn)));
      if (started === undefined) throw conversationLocked();
      return started;
    },
    async advance(key, actor, change) {
      const row = unwrap(await advance(key.projectId, describeStep(key, actor, change)));
      if (row === undefined) throw new LeaseLostError(key.runId);
      return row;
    },
  };
}

function limitedBy<Item>(sizeOf: (item: Item) => number): BatchLimits<Item> {
  return { maxItems: MAX_TURNS, size: { of: sizeOf, max: MAX_CHARS }, patienceMs: PATIENCE_MS };
}

/** In one statement; where the store refuses that, each by itself, so that none fails for another. */
async function together<Item, Result>(
  items: readonly Item[],
  write: (items: readonly Item[]) => Promise<readonly Result[]>,
): Promise<readonly PromiseSettledResult<Result | undefined>[]> {
  try {
    return (await write(items)).map((value) => ({ status: 'fulfilled', value }));
  } catch (error) {
    if (items.length === 1 || !wasRolledBack(error)) throw error;
    return Promise.allSettled(items.map(async (item) => (await write([item]))[0]));
  }
}

function unwrap<Result>(settled: PromiseSettledResult<Result>): Result {
  if (settled.status === 'rejected') throw settled.reason;
  return settled.value;
}
