/** The run that waits for the results which a request brings. */
import type { Executor } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import type { RunRow } from '../engine/index.ts';
import { invalid, type ToolResults } from './openai/chat/read-messages.ts';

/** A smith's newest runs among which the paused one is looked for: results follow their calls soon. */
const LOOKED_AT = 200;
/** Providers may count their calls from zero, so that abandoned runs can wait for calls of the same ids. */
const CANDIDATES = 10;

interface OpenCall {
  readonly id: string;
  readonly name: string;
  readonly status: string;
}

/**
 * The smith's newest paused run that waits for each of these results; with a thread, the newest in it. Throws
 * `invalid_input` where it waits for more than these.
 */
export async function findPausedRun(
  db: Executor,
  smith: { readonly projectId: string; readonly smithId: string; readonly threadId: string | undefined },
  given: ToolResults,
): Promise<RunRow | undefined> {
  const { rows } = await db.query<RunRow>({
    text: `
      select run.* from (
        select id from runs where project_id = $1 and smith_id = $2 order by id desc limit ${LOOKED_AT}
      ) recent
      join runs run on run.project_id = $1 and run.id = recent.id
      where run.status = 'paused' and ($3::text is null or run.thread_id = $3) and run.output -> 'tool_calls' @> $4::jsonb
      order by run.id desc limit ${CANDIDATES}`,
    values: [
      smith.projectId,
      smith.smithId,
      smith.threadId ?? null,
      json(given.results.map(({ callId }) => ({ id: callId, status: 'requires_result' }))),
    ],
  });
  const run = rows.find((row) => isAsked(openCalls(row), given));
  if (run !== undefined) requireAll(openCalls(run), given);
  return run;
}

function openCalls({ output }: RunRow): OpenCall[] {
  const calls = (output?.tool_calls ?? []) as OpenCall[];
  return calls.filter(({ status }) => status === 'requires_result');
}

/** Whether the calls are those that the request shows. */
function isAsked(open: readonly OpenCall[], { calls }: ToolResults): boolean {
  if (calls === undefined) return true;
  return calls.every(({ id, name }) => open.some((call) => call.id === id && call.name === name));
}

function requireAll(open: readonly OpenCall[], { results }: ToolResults): void {
  const missing = open.filter(({ id }) => !results.some(({ callId }) => callId === id)).map(({ id }) => id);
  if (missing.length === 0) return;
  throw invalid(
    'messages',
    `must end with a message with the role tool for each open call; missing: ${missing.join(', ')}`,
  );
}
