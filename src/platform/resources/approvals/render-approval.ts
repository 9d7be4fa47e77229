import type { JsonObject } from '../../tables.ts';
import type { Approval } from './schema.ts';
import type { ApprovalRow } from './store.ts';

/** The public shape of a row. */
export function renderApproval(row: ApprovalRow): Approval {
  return {
    ...row,
    elicitation: row.elicitation === null ? null : renderElicitation(row.elicitation),
    created_at: row.created_at.toISOString(),
    resolved_at: row.resolved_at?.toISOString() ?? null,
  };
}

function renderElicitation({ message, requested_schema }: JsonObject): NonNullable<Approval['elicitation']> {
  return {
    message: typeof message === 'string' ? message : '',
    requested_schema: typeof requested_schema === 'object' ? { ...requested_schema } : {},
  };
}
