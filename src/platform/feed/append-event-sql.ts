/** How events are written inside a statement that does more: one CTE of it. */

/**
 * Writes the events of `$events`, a jsonb list of `{id, type, data}`, for a row of `source` that has the `smith_id`. Every
 * argument is SQL: a placeholder of the statement, or a relation in it.
 */
export function appendEventsSql(names: {
  readonly source: string;
  readonly project: string;
  readonly actor: string;
  readonly events: string;
}): string {
  const { source, project, actor, events } = names;
  return `
      insert into events (project_id, id, type, smith_id, actor, data)
      select ${project}, e.id, e.type, ${source}.smith_id, ${actor}, e.data
      from ${source}, jsonb_to_recordset(${events}) as e (id text, type text, data jsonb)`;
}
