/** The run that waits for what a request answers. */
import type { Executor } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import type { RunRow, Surface } from '../engine/index.ts';

/** Where to look. */
export interface WaitingPlace {
  readonly projectId: string;
  readonly smithId: string;
  /** Undefined: in any. */
  readonly threadId: string | undefined;
  /** Undefined: whatever started the run. */
  readonly surface?: Surface | undefined;
}

/** A call that waits for its result. Providers may count their calls from zero: the name helps to tell them apart. */
export interface WaitingCall {
  readonly callId: string;
  readonly name?: string | undefined;
}

/** The newest paused run that waits for the result of each of these calls; there is at least one. */
export async function findRunByCalls(
  db: Executor,
  place: WaitingPlace,
  calls: readonly WaitingCall[],
): Promise<RunRow | undefined> {
  const shown = calls.map(({ callId: id, name }) => ({
    id,
    ...(name === undefined ? {} : { name }),
    status: 'requires_result',
  }));
  const { rows } = await db.query<RunRow>({
    text: `
      select run.* from runs run
      where ${PAUSED_THERE} and run.output -> 'tool_calls' @> $6::jsonb
        -- Asked of each run before its output is read.
        and exists (
          select from run_steps step
          where step.project_id = $1 and step.run_id = run.id and step.call_id = $5 and step.status = 'waiting'
        )
      order by run.id desc limit 1`,
    values: [...placeValues(place), calls[0]?.callId ?? null, json(shown)],
  });
  return rows[0];
}

/** The paused run that waits for this decision. */
export async function findRunByApproval(
  db: Executor,
  place: WaitingPlace,
  approvalId: string,
): Promise<RunRow | undefined> {
  const { rows } = await db.query<RunRow>({
    text: `
      select run.* from runs run
      where ${PAUSED_THERE} and run.id = (
        select run_id from approvals where project_id = $1 and id = $5 and status = 'pending'
      )`,
    values: [...placeValues(place), approvalId],
  });
  return rows[0];
}

/** Served by the index runs_paused. */
const PAUSED_THERE = `run.project_id = $1 and run.smith_id = $2 and run.status = 'paused'
        and ($3::text is null or run.thread_id = $3) and ($4::text is null or run.surface = $4)`;

function placeValues({ projectId, smithId, threadId, surface }: WaitingPlace) {
  return [projectId, smithId, threadId ?? null, surface ?? null];
}
