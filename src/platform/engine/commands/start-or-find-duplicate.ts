/** Starts a turn once for each idempotency key, however many requests with the key race. */
import type { Database } from '../../../kernel/db/database.ts';
import { isUniqueViolation } from '../../../kernel/db/sql-errors.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { forkThread } from '../store/fork-thread.ts';
import { type NewTurn, startTurn, type TurnStart } from '../store/start-turn.ts';
import { type ClaimedTurn, findClaimedTurn } from '../store/turn-claims.ts';
import type { Fork } from './choose-thread.ts';

/**
 * Tries again when a turn of the same smith ended between two reads of one statement, or items that are being added to its
 * conversation took the turn's number: each time, somebody else has got on.
 */
const START_TRIES = 20;

/** Throws `conversation_locked`, `idempotency_key_reused` and, for a fork, `replay_unsupported`. */
export async function startOrFindDuplicate(
  db: Database,
  turn: NewTurn,
  fork: Fork | undefined,
): Promise<TurnStart | { duplicate: ClaimedTurn }> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await (fork === undefined ? startTurn(db, turn) : startInFork(db, turn, fork));
    } catch (error) {
      const keyTaken = isUniqueViolation(error, 'idempotency_keys_pkey');
      const turnTaken = isUniqueViolation(error, 'messages_pkey');
      const locked = error instanceof ApiError && error.code === 'conversation_locked';
      if (!keyTaken && !turnTaken && !locked) throw error;
      const duplicate = await findClaimedTurn(db, turn.run.project_id, turn.idempotency);
      if (duplicate !== undefined) return { duplicate };
      if (locked || attempt === START_TRIES) throw error;
    }
  }
}

/** The copy of the thread and the turn on it are there together or not at all. */
function startInFork(db: Database, turn: NewTurn, { origin, at }: Fork): Promise<TurnStart> {
  return db.transaction(async (tx) => {
    await forkThread(tx, origin, turn.run.thread_id, at);
    return startTurn(tx, turn);
  });
}
