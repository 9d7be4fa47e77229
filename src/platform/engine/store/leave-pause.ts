/** How a run leaves a pause once something of what it waits for has come. */
import type { Transaction } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { JsonObject } from '../../tables.ts';
import type { ServerCredentials } from '../../tools/request-servers.ts';
import { describePause, renderCall } from '../execution/turn-records.ts';
import { describeLeftPause } from './left-pauses.ts';
import type { ResumableTurn } from './resume-turn.ts';
import { type RunRow, renderUsage } from './run-row.ts';
import type { TurnClaim } from './turn-claims.ts';

/** What the request that answers a pause leaves with it. */
export interface AnsweringRequest {
  /** Stored in `runs.requests`, for the surface to show again. */
  readonly request?: JsonObject | undefined;
  /** The caller has looked for what the key has begun before (`findClaimedTurn`). */
  readonly idempotency?: TurnClaim | undefined;
  /** Of MCP servers that the run's own request brought: they take the place of those before. */
  readonly credentials?: ServerCredentials | undefined;
}

/** A pause that is answered, wholly or in part. */
export interface AnsweredPause {
  readonly run: RunRow;
  /** Its last frame. */
  readonly seq: number;
  /** Undefined: nobody's request, the run goes on by itself. */
  readonly submitting?: AnsweringRequest;
  /** In place of what is sealed with the run; undefined: that stays. */
  readonly sealedCredentials?: string | undefined;
}

/** Still paused: the output and a new `run.paused` frame, at which readers of the stream end, show what is left to answer. */
export async function stayPaused(tx: Transaction, answered: AnsweredPause, turn: ResumableTurn): Promise<RunRow> {
  const { run } = answered;
  await tx.query({
    text: `insert into run_events (project_id, run_id, seq, type, data) values ($1, $2, $3, 'run.paused', $4)`,
    values: [
      run.project_id,
      run.id,
      turn.lastSeq + 1,
      json({ ...describePause(turn.state.openCalls), usage: renderUsage(run) }),
    ],
  });
  const output = { ...run.output, tool_calls: turn.state.calls.map(renderCall) };
  // The new segment ends at once: a repeated request is answered with this pause.
  return leavePause(tx, answered, { atOnce: false, set: 'output = $10::jsonb', value: json(output) });
}

/**
 * Back to in_progress: takes the smith's lock again, or throws the violation of runs_one_turn_per_smith. `replicaId`: who
 * executes it; null: whichever replica takes it over.
 */
export function resumeRun(tx: Transaction, answered: AnsweredPause, replicaId: string | null): Promise<RunRow> {
  const atOnce = answered.submitting?.idempotency?.atOnce === true;
  const set = `status = 'in_progress', replica_id = $10, attempt = attempt + 1, stop_reason = null`;
  return leavePause(tx, answered, { atOnce, set, value: replicaId });
}

/** One statement: what the pause was, what answered it, for which key, and how the run goes on. */
async function leavePause(
  tx: Transaction,
  { run, seq, submitting = {}, sealedCredentials }: AnsweredPause,
  next: { readonly atOnce: boolean; readonly set: string; readonly value: string | null },
): Promise<RunRow> {
  const { request, idempotency } = submitting;
  const segment = run.pauses.length + 2;
  const { rows } = await tx.query<RunRow>({
    text: `
      with claim as (
        insert into idempotency_keys (project_id, operation, key, fingerprint, run_id, segment, at_once, expires_at)
        select $1, $5::text, $6::text, $7::text, $2, $8::int, $9::boolean, now() + interval '24 hours'
        where $6::text is not null
      )
      update runs set
        pauses = pauses || jsonb_build_array($3::jsonb), requests = requests || $4::jsonb, updated_at = now(),
        sealed_mcp_credentials = coalesce($11::text, sealed_mcp_credentials), ${next.set}
      where project_id = $1 and id = $2 returning *`,
    values: [
      run.project_id,
      run.id,
      describeLeftPause(run, seq),
      json(request === undefined ? [] : [{ segment, ...request }]),
      idempotency?.operation ?? null,
      idempotency?.key ?? null,
      idempotency?.fingerprint ?? null,
      segment,
      next.atOnce,
      next.value,
      sealedCredentials ?? null,
    ],
  });
  const row = rows[0];
  if (row === undefined) throw new ApiError('not_found');
  return row;
}
