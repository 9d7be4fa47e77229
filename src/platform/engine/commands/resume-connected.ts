/** Lets a run go on whose calls waited for an account that has been connected. */
import type { Database } from '../../../kernel/db/database.ts';
import { type ConnectedRun, readyConnectedCalls } from '../store/connection-waits.ts';
import { findLastSeq } from '../store/orphans.ts';
import { goOnByItself, type LeftPauseOutcome } from './go-on-by-itself.ts';

export function resumeConnected(db: Database, connected: ConnectedRun): Promise<LeftPauseOutcome> {
  return goOnByItself(db, connected, async (tx, { project_id: projectId, id: runId }) =>
    (await readyConnectedCalls(tx, projectId, runId)) ? findLastSeq(tx, { projectId, runId }) : undefined,
  );
}
