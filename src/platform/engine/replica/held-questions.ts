/**
 * Questions whose calls only this replica can carry on, because it holds them open. One whose call is over closes; a call
 * whose run has ended, on whichever replica, is let go.
 */
import type { Database } from '../../../kernel/db/database.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { createPeriodicWorker, type PeriodicWorker } from '../../../kernel/periodic/periodic-worker.ts';
import type { QuestionHold } from '../../tools/tool.ts';

const LOOK_MS = 2_000;

interface RunKey {
  readonly projectId: string;
  readonly runId: string;
}

export interface HeldQuestions extends PeriodicWorker {
  /** Whether calls are held open. */
  holdsAny(): boolean;
  /** The question stands in the store. */
  add(run: RunKey, approvalId: string, hold: QuestionHold): void;
  /** The run has ended: what is held for it is let go. */
  endRun(runId: string): void;
}

export interface HeldQuestionDependencies {
  readonly db: Database;
  readonly logger: Logger;
  /** There are questions to close. */
  readonly onClosable: () => void;
}

/** Checks every LOOK_MS, while it holds something, for runs that have ended elsewhere. */
export function createHeldQuestions({ db, logger, onClosable }: HeldQuestionDependencies): HeldQuestions {
  const runs = new Map<string, { readonly projectId: string; readonly holds: Set<QuestionHold> }>();

  function endRun(runId: string): void {
    const found = runs.get(runId);
    runs.delete(runId);
    for (const hold of found?.holds ?? []) hold.end();
  }

  async function close({ projectId }: RunKey, approvalId: string): Promise<void> {
    const { rowCount } = await db.query({
      text: `
        update approvals set expires_at = now()
        where project_id = $1 and id = $2 and status = 'pending' and expires_at > now()`,
      values: [projectId, approvalId],
    });
    if (rowCount > 0) onClosable();
  }

  const worker = createPeriodicWorker({
    name: 'held questions',
    startsAtOnce: false,
    logger,
    async pass() {
      if (runs.size === 0) return undefined;
      const held = [...runs].map(([runId, { projectId }]) => ({ runId, projectId }));
      for (const runId of await findEnded(db, held)) endRun(runId);
      return runs.size === 0 ? undefined : LOOK_MS;
    },
  });
  return {
    ...{ start: () => worker.start(), wake: () => worker.wake() },
    ...{ runPass: () => worker.runPass(), stop: () => worker.stop() },
    endRun,
    holdsAny: () => runs.size > 0,
    add(run, approvalId, hold) {
      const found = runs.get(run.runId) ?? { projectId: run.projectId, holds: new Set() };
      found.holds.add(hold);
      runs.set(run.runId, found);
      if (runs.size === 1 && found.holds.size === 1) worker.wake();
      void hold.over
        .then(() => close(run, approvalId))
        .catch((error: unknown) => {
          // It closes when its time is over.
          logger.warn({ err: error, runId: run.runId }, 'a question that nobody waits for was not closed');
        });
    },
  };
}

/** Those that are gone are ended too. */
async function findEnded(db: Database, held: readonly RunKey[]): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>({
    text: `
      select held.id from unnest($1::text[], $2::text[]) as held (project_id, id)
      left join runs r on r.project_id = held.project_id and r.id = held.id
      where r.id is null or r.status in ('completed', 'failed', 'cancelled')`,
    values: [held.map(({ projectId }) => projectId), held.map(({ runId }) => runId)],
  });
  return rows.map(({ id }) => id);
}
