/** The thread that a turn runs in: the caller's, a new one, that of the run which it continues, or a copy of it. */
import type { Executor } from '../../../kernel/db/database.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { RunRow } from '../store/run-row.ts';

export interface ThreadChoice {
  readonly threadId?: string;
  /** Asks this run's question again, in a new thread that holds the conversation as it stood before it. */
  readonly replayOf?: RunRow;
  /** Goes on behind this run: in its thread where it is the last of it, else in a copy that ends with it. */
  readonly continues?: RunRow;
}

export interface TurnThread {
  readonly id: string;
  /** What the thread is a copy of; to be made together with the turn. */
  readonly fork: Fork | undefined;
}

/** The thread of `origin` as it stood before or after that run. */
export interface Fork {
  readonly origin: RunRow;
  readonly at: 'before' | 'after';
}

export async function chooseThread(db: Executor, { threadId, replayOf, continues }: ThreadChoice): Promise<TurnThread> {
  if (replayOf !== undefined) return { id: mintId('thr'), fork: { origin: replayOf, at: 'before' } };
  if (threadId !== undefined) return { id: threadId, fork: undefined };
  if (continues === undefined) return { id: mintId('thr'), fork: undefined };
  if (await isLastOfThread(db, continues)) return { id: continues.thread_id, fork: undefined };
  return { id: mintId('thr'), fork: { origin: continues, at: 'after' } };
}

async function isLastOfThread(db: Executor, run: RunRow): Promise<boolean> {
  const { rows } = await db.query<{ turns: number }>({
    text: 'select turns from threads where project_id = $1 and smith_id = $2 and id = $3',
    values: [run.project_id, run.smith_id, run.thread_id],
  });
  return rows[0]?.turns === run.turn;
}
