/** Starts a turn once for each idempotency key, however many requests with the key race. */
import type { Database } from '../../../kernel/db/database.ts';
import { isUniqueViolation } from '../../../kernel/db/sql-errors.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { TenantTransaction } from '../../store/tenant-db.ts';
import type { Engine } from '../engine.ts';
import type { InlineFile, TurnFiles } from '../input/attached-files.ts';
import { forkThread } from '../store/fork-thread.ts';
import { type NewTurn, startTurn, type TurnStart } from '../store/start-turn.ts';
import { type ClaimedTurn, findClaimedTurn } from '../store/turn-claims.ts';
import type { Fork } from './choose-thread.ts';

/**
 * Tries again when a turn of the same smith ended between two reads of one statement, or items that are being added to its
 * conversation took the turn's number: each time, somebody else has got on.
 */
const START_TRIES = 20;

/** What commits with the start of a turn. */
export interface StartedWith {
  /** What the turn's thread is to be a copy of. */
  readonly fork: Fork | undefined;
  /** Bytes that came with the turn, which become files. */
  readonly inline: readonly InlineFile[];
  readonly files: TurnFiles;
}

/** Throws `conversation_locked`, `idempotency_key_reused`, `payload_too_large` and, for a fork, `replay_unsupported`. */
export async function startOrFindDuplicate(
  { db, turns, heartbeat }: Pick<Engine, 'db' | 'turns' | 'heartbeat'>,
  turn: NewTurn,
  started: StartedWith,
): Promise<TurnStart | { duplicate: ClaimedTurn }> {
  const isAlone = started.fork === undefined && started.inline.length === 0;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await heartbeat.during(() => (isAlone ? turns.start(turn) : startTogether(db, turn, started)));
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

/** The copy of the thread, the turn on it and the files of its input are there together or not at all. */
function startTogether(db: Database, turn: NewTurn, { fork, inline, files }: StartedWith): Promise<TurnStart> {
  const { project_id: projectId, smith_id: smithId, thread_id: threadId } = turn.run;
  return db.transaction(async (tx) => {
    if (fork !== undefined) await forkThread(tx, fork.origin, threadId, fork.at);
    // What follows in the transaction would hold the periods of budgets up.
    const start = await startTurn(tx, { ...turn, reservation: undefined });
    await files.claim(new TenantTransaction(tx, projectId), smithId, inline);
    return start;
  });
}
