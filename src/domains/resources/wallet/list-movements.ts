import { ApiError } from '../../../kernel/http/errors.ts';
import type { HttpReply } from '../../../kernel/http/operation.ts';
import { type ListQuery, listReply, rowsOf } from '../../list-page.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { movementKinds, type WalletLedger, type WalletMovement } from './schema.ts';
import { findPlace, listMovements as listRows, type MovementRow } from './store.ts';

/** Throws `bad_request` for an `after` that is no movement of the wallet. */
export async function listMovements({
  caller,
  db,
  query,
}: WorkspaceRead<{ query: ListQuery }>): Promise<HttpReply<WalletLedger>> {
  const scoped = workspaceDb(db, caller.workspaceId);
  const place = query.after === undefined ? undefined : await findPlace(scoped, query.after);
  if (place === undefined && query.after !== undefined) {
    throw new ApiError('bad_request', { message: '`after` is not a `next_after` of this list.', param: 'after' });
  }
  const rows = await listRows(scoped, query.after, rowsOf(query));
  return listReply(query, rows, (shown, next_after) => ({ movements: shown.map(renderMovement), next_after }));
}

function renderMovement(row: MovementRow): WalletMovement {
  const [subject, subjectId = null] = row.reference.split(':');
  return {
    id: row.id,
    kind: kindOf(row),
    available_change_cents: row.available_cents,
    held_change_cents: row.held_cents,
    order_id: subject === 'order' ? subjectId : null,
    payment_id: subject === 'payment' ? subjectId : null,
    description: row.description,
    created_at: row.created_at.toISOString(),
  };
}

function kindOf({ id, kind }: MovementRow): WalletMovement['kind'] {
  const known = movementKinds.find((one) => one === kind);
  if (known === undefined) throw new Error(`the movement ${id} is of an unknown kind: ${kind}`);
  return known;
}
