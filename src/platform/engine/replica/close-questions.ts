/** Closes questions that nobody has answered in their time, on whichever replica looks first. */
import type { Database } from '../../../kernel/db/database.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { createPeriodicWorker, type PeriodicWorker } from '../../../kernel/periodic/periodic-worker.ts';
import { closeQuestion, findQuestionsToClose } from '../commands/close-question.ts';

const LOOK_MS = 2_000;

export interface QuestionCloserDependencies {
  readonly db: Database;
  readonly logger: Logger;
  /** Told of runs that have changed: those who follow them are woken. */
  readonly announce: (runIds: readonly string[]) => void;
  /** There are runs to be taken over. */
  readonly onResumed: () => void;
}

export function createQuestionCloser({ db, logger, announce, onResumed }: QuestionCloserDependencies): PeriodicWorker {
  return createPeriodicWorker({
    name: 'close questions',
    intervalMs: LOOK_MS,
    logger,
    async pass() {
      for (const question of await findQuestionsToClose(db)) {
        const outcome = await closeQuestion(db, question);
        if (outcome === 'resumed' || outcome === 'waits') announce([question.run_id]);
        if (outcome === 'resumed') onResumed();
      }
    },
  });
}
