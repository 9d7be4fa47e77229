/**
 * What the one-statement start and step of a turn write to threads and messages: CTEs of those statements. Every argument
 * is SQL, a placeholder of the statement or a relation in it.
 */

/** Which thread, in the terms of the statement. */
export interface ThreadNames {
  readonly project: string;
  readonly smith: string;
  readonly thread: string;
}

/** Of the rows `m` of messages: the list in which a turn's history travels. */
export const MESSAGES_AS_JSON = `jsonb_agg(jsonb_build_object('turn', m.turn, 'position', m.position, 'role', m.role,
  'content', m.content, 'tokens', m.tokens) order by m.turn, m.position)`;

/** The number of the thread's next turn; 1 for a thread that is not there yet. */
export function nextTurnSql({ project, smith, thread }: ThreadNames): string {
  return `coalesce((select turns from threads where project_id = ${project} and smith_id = ${smith} and id = ${thread}), 0) + 1`;
}

/** Makes the thread count the `turn` of `source`'s row, or begins it with that. */
export function countTurnSql({ project, smith, thread }: ThreadNames, source: string): string {
  return `
      insert into threads (project_id, smith_id, id, turns) select ${project}, ${smith}, ${thread}, turn from ${source}
      on conflict (project_id, smith_id, id) do update set turns = excluded.turns, updated_at = now()`;
}

/** Writes the messages of `messages`, a jsonb list of `{role, content, tokens}`, as the first of `source`'s `turn`. */
export function insertQuestionSql(
  { project, smith, thread }: ThreadNames,
  { source, run, messages }: { readonly source: string; readonly run: string; readonly messages: string },
): string {
  return `
      insert into messages (project_id, smith_id, thread_id, turn, position, run_id, role, content, tokens)
      select ${project}, ${smith}, ${thread}, ${source}.turn, m.position - 1, ${run}, m.message ->> 'role',
             m.message -> 'content', (m.message ->> 'tokens')::int
      from ${source}, jsonb_array_elements(${messages}) with ordinality as m (message, position)`;
}

/** Writes the messages of `messages`, a jsonb list of `{position, role, content, tokens}`, to the turn of `run`'s row. */
export function insertMessagesSql({ run, messages }: { readonly run: string; readonly messages: string }): string {
  return `
      insert into messages (project_id, smith_id, thread_id, turn, position, run_id, role, content, tokens)
      select ${run}.project_id, ${run}.smith_id, ${run}.thread_id, ${run}.turn, m.position, ${run}.id, m.role, m.content,
             m.tokens
      from ${run}, jsonb_to_recordset(${messages}) as m (position int, role text, content jsonb, tokens int)`;
}

/** Sets the summary of `run`'s thread where there is one and it covers more than the one before. */
export function summarizeSql({
  run,
  project,
  summary,
  turn,
}: {
  readonly run: string;
  readonly project: string;
  readonly summary: string;
  readonly turn: string;
}): string {
  return `
      update threads set summary = ${summary}, summary_turn = ${turn}
      from ${run} where ${summary} is not null
        and threads.project_id = ${project} and threads.smith_id = ${run}.smith_id and threads.id = ${run}.thread_id
        and threads.summary_turn < ${turn}`;
}

/**
 * Remembers of the threads in `marks`, a jsonb list of `{thread_id, turn, removals}`, up to which turn recall knows them, and
 * returns the `id` of each. Leaves those out that are gone, do not meet `condition` (of a thread `t`), or from which
 * something was taken since their `removals` were read.
 */
export function markRecalledSql({
  project,
  smith,
  marks,
  condition,
}: {
  readonly project: string;
  readonly smith: string;
  readonly marks: string;
  readonly condition: string;
}): string {
  return `
      update threads t set recalled_turn = greatest(t.recalled_turn, m.turn)
      from jsonb_to_recordset(${marks}) as m (thread_id text, turn int, removals int)
      where t.project_id = ${project} and t.smith_id = ${smith} and t.id = m.thread_id and t.removals = m.removals
        and ${condition}
      returning t.id`;
}

/** Deletes a thread that `left_over`, a relation of the messages that it still has, shows to be empty. */
export function deleteEmptyThreadSql({ project, smith, thread }: ThreadNames, leftOver: string): string {
  return `
        delete from threads where project_id = ${project} and smith_id = ${smith} and id = ${thread}
          and not exists (select from ${leftOver})`;
}
