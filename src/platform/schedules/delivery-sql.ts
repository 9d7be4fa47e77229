/** A settled delivery as its schedule shows it (`ScheduleDelivery`), in SQL. Each member is an expression. */
export function deliverySql(member: Readonly<Record<'id' | 'status' | 'dueAt' | 'runId' | 'error', string>>): string {
  const { id, status, dueAt, runId, error } = member;
  const due = `to_char(${dueAt} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  return `jsonb_build_object('id', ${id}, 'status', ${status}, 'due_at', ${due}, 'run_id', ${runId}, 'error', ${error})`;
}
