import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { renderApproval } from './render-approval.ts';
import type { Approval, ApprovalPath } from './schema.ts';
import { findApproval } from './store.ts';

export async function getApproval({ db, caller, params }: ProjectRead<{ params: ApprovalPath }>): Promise<Approval> {
  const row = await findApproval(db, params.id);
  if (row === undefined) throw new ApiError('not_found');
  if (caller.kind === 'smith' && row.smith_id !== caller.smithId) throw new ApiError('not_found');
  return renderApproval(row);
}
