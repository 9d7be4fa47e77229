/**
 * Idempotency keys of turns. The statement that starts or resumes a turn writes the row that claims the request's key; it
 * names the run and the segment. The answer itself is not stored: it is read off the run, or
 * off its timeline, as it stood when the request was answered.
 */
import type { Executor } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { IdempotencyClaim } from '../../../kernel/http/operation.ts';
import type { JsonObject } from '../../tables.ts';
import { runAtPause } from './left-pauses.ts';
import { NOTHING_USED, type RunRow, usedBy } from './run-row.ts';

export interface TurnClaim extends IdempotencyClaim {
  /** The request is answered as soon as the turn has begun. Absent: once it rests, unless `keepAnswer` says otherwise. */
  readonly atOnce?: boolean;
}

/** What a request with the same key has begun before. */
export interface ClaimedTurn {
  readonly run: RunRow;
  /** From 1. */
  readonly segment: number;
  readonly atOnce: boolean;
  /** The members of the run that changed afterwards. */
  readonly answered: AnsweredState | null;
  readonly claimedAt: Date;
}

interface AnsweredState {
  readonly status: RunRow['status'];
  readonly output: JsonObject | null;
  readonly stop_reason: string | null;
  readonly warnings: RunRow['warnings'];
  readonly input_tokens: number;
  readonly cached_input_tokens?: number;
  readonly output_tokens: number;
  readonly reasoning_tokens?: number;
  readonly cost_micros: number | null;
  /** ISO-8601. */
  readonly updated_at: string;
}

interface ClaimColumns {
  claim_fingerprint: string;
  claim_live: boolean;
  claim_segment: number;
  claim_at_once: boolean;
  claim_answered: AnsweredState | null;
  claim_created_at: Date;
}

/** Undefined: the key is free. Throws `idempotency_key_reused` where it came with another request. */
export async function findClaimedTurn(
  db: Executor,
  projectId: string,
  claim: IdempotencyClaim | undefined,
): Promise<ClaimedTurn | undefined> {
  if (claim === undefined) return undefined;
  const key = [projectId, claim.operation, claim.key];
  const { rows } = await db.query<RunRow & ClaimColumns>({
    text: `
      select run.*, claim.fingerprint as claim_fingerprint, claim.expires_at > now() as claim_live,
        claim.segment as claim_segment, claim.at_once as claim_at_once, claim.answered as claim_answered,
        claim.created_at as claim_created_at
      from idempotency_keys claim
      join runs run on run.project_id = claim.project_id and run.id = claim.run_id
      where claim.project_id = $1 and claim.operation = $2 and claim.key = $3`,
    values: key,
  });
  const row = rows[0];
  if (row === undefined) return undefined;
  const { claim_fingerprint, claim_live, claim_segment, claim_at_once, claim_answered, claim_created_at, ...run } = row;
  if (!claim_live) {
    await db.query({
      text: 'delete from idempotency_keys where project_id = $1 and operation = $2 and key = $3 and expires_at <= now()',
      values: key,
    });
    return undefined;
  }
  if (claim_fingerprint !== claim.fingerprint) throw new ApiError('idempotency_key_reused');
  return {
    run,
    segment: claim_segment,
    atOnce: claim_at_once,
    answered: claim_answered,
    claimedAt: claim_created_at,
  };
}

/** The run with which the request was answered; undefined while its segment is not over, and nobody was answered. */
export function runAsAnswered({ run, segment, atOnce, answered, claimedAt }: ClaimedTurn): RunRow | undefined {
  if (answered !== null) return { ...run, error: null, ...answered, updated_at: new Date(answered.updated_at) };
  if (atOnce) return runAtBeginning(run, segment, claimedAt);
  const pause = run.pauses[segment - 1];
  if (pause !== undefined) return runAtPause(run, pause);
  return run.status === 'in_progress' ? undefined : run;
}

/** As the statement wrote it that began the segment. */
function runAtBeginning(run: RunRow, segment: number, begunAt: Date): RunRow {
  const pause = run.pauses[segment - 2];
  const before: RunRow =
    pause === undefined ? { ...run, output: null, warnings: [], ...NOTHING_USED } : runAtPause(run, pause);
  return { ...before, status: 'in_progress', stop_reason: null, error: null, updated_at: begunAt };
}

/** The request has been answered with this run, though its segment is not over. */
export async function keepAnswer(db: Executor, claim: IdempotencyClaim, run: RunRow): Promise<void> {
  const answered: AnsweredState = {
    status: run.status,
    output: run.output,
    stop_reason: run.stop_reason,
    warnings: run.warnings,
    ...usedBy(run),
    updated_at: run.updated_at.toISOString(),
  };
  await db.query({
    text: `
      update idempotency_keys set answered = $5
      where project_id = $1 and operation = $2 and key = $3 and run_id = $4`,
    values: [run.project_id, claim.operation, claim.key, run.id, json(answered)],
  });
}
