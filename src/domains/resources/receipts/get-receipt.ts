import { ApiError } from '../../../kernel/http/errors.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { findReceipt, type ReceiptRow } from '../../receipts/index.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { renderReceipt } from './render-receipt.ts';
import type { Receipt, ReceiptPath } from './schema.ts';

type Request = WorkspaceRead<{ params: ReceiptPath }>;

/** Throws `not_found`. */
export async function getReceipt(request: Request): Promise<Receipt> {
  return renderReceipt(await ownReceipt(request));
}

/** Throws `not_found`. */
export async function ownReceipt({ caller, db, params }: Request): Promise<ReceiptRow> {
  const row = await findReceipt(workspaceDb(db, caller.workspaceId), params.receipt_id);
  if (row === undefined) {
    throw new ApiError('not_found', { message: 'The workspace has no such receipt. GET /receipts lists what it has.' });
  }
  return row;
}
