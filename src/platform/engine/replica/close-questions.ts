/** Closes questions that nobody has answered in their time, on whichever replica looks first. */
import type { Database } from '../../../kernel/db/database.ts';
import { isStorageFault } from '../../../kernel/http/storage-faults.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { createPeriodicWorker, type PeriodicWorker } from '../../../kernel/periodic/periodic-worker.ts';
import { closeQuestion, findQuestionsToClose, type OpenQuestion } from '../commands/close-question.ts';

const LOOK_MS = 2_000;

export interface QuestionCloserDependencies {
  readonly db: Database;
  readonly logger: Logger;
  /** Told of runs that have changed: those who follow them are woken. */
  readonly announce: (runIds: readonly string[]) => void;
  /** A run goes on: at the replica of this id, or at whichever takes it over. */
  readonly onResumed: (run: OpenQuestion, replicaId: string | null) => Promise<void>;
}

export function createQuestionCloser(deps: QuestionCloserDependencies): PeriodicWorker {
  const { db, logger } = deps;
  return createPeriodicWorker({
    name: 'close questions',
    intervalMs: LOOK_MS,
    logger,
    async pass(signal) {
      for (let last: OpenQuestion | undefined; !signal.aborted; ) {
        const questions = await findQuestionsToClose(db, last);
        for (const question of questions) await closeOne(deps, question);
        last = questions.at(-1);
        if (last === undefined) return;
      }
    },
  });
}

/** One that cannot be closed is tried again in the next pass, and keeps nobody else waiting. */
async function closeOne(
  { db, logger, announce, onResumed }: QuestionCloserDependencies,
  question: OpenQuestion,
): Promise<void> {
  try {
    const closed = await closeQuestion(db, question);
    if (closed.kind === 'resumed' || closed.kind === 'waits') announce([question.run_id]);
    if (closed.kind === 'resumed') await onResumed(question, closed.replicaId);
  } catch (error) {
    if (isStorageFault(error)) throw error;
    logger.error({ err: error, runId: question.run_id }, 'a question could not be closed');
  }
}
