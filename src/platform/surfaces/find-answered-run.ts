/** The part of a run that a request with results began, when the same request comes again with its `Idempotency-Key`. */
import { createHash } from 'node:crypto';
import type { Executor } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import type { IdempotencyClaim } from '../../kernel/http/operation.ts';
import type { RunRow } from '../engine/index.ts';
import type { JsonObject } from '../tables.ts';
import type { ToolResults } from './openai/chat/read-messages.ts';
import type { Stretch } from './read-answer.ts';

/** A smith's newest runs among which it is looked for. */
const LOOKED_AT = 200;

/** What a run keeps of a request that brought it results: the key together with the request that it stood for. */
export function markOf({ operation, key, fingerprint }: IdempotencyClaim): string {
  return createHash('sha256').update(`${operation}\n${key}\n${fingerprint}`).digest('base64url');
}

/** Undefined: no run has taken results with this mark. */
export async function findAnsweredRun(
  db: Executor,
  smith: { readonly projectId: string; readonly smithId: string },
  mark: string,
  given: ToolResults,
): Promise<Stretch | undefined> {
  const { rows } = await db.query<RunRow>({
    text: `
      select run.* from (
        select id from runs where project_id = $1 and smith_id = $2 order by id desc limit ${LOOKED_AT}
      ) recent
      join runs run on run.project_id = $1 and run.id = recent.id
      where run.requests @> $3::jsonb order by run.id desc limit 1`,
    values: [smith.projectId, smith.smithId, json([{ mark }])],
  });
  const run = rows[0];
  if (run === undefined) return undefined;
  const pause = await findPause(db, run, given);
  if (pause === undefined) return undefined;
  const { usage } = pause.data as { usage: { input_tokens: number; output_tokens: number } };
  return {
    run,
    number: run.requests.findIndex((request) => request.mark === mark) + 1,
    after: pause.seq,
    usedBefore: { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens },
  };
}

/** The last frame that says that the run waits for these results: they were brought right after it. */
async function findPause(db: Executor, run: RunRow, { results }: ToolResults) {
  const { rows } = await db.query<{ seq: number; data: JsonObject }>({
    text: `
      select seq, data from run_events
      where project_id = $1 and run_id = $2 and type = 'run.paused' and data -> 'tool_calls' @> $3::jsonb
      order by seq desc limit 1`,
    values: [run.project_id, run.id, json(results.map(({ callId }) => ({ id: callId, status: 'requires_result' })))],
  });
  return rows[0];
}
