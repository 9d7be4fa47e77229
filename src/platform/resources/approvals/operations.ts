import { pageOf } from '../../../kernel/http/paging.ts';
import { project } from '../../access/operation.ts';
import { getApproval } from './get-approval.ts';
import { listApprovals } from './list-approvals.ts';
import { Approval, ApprovalPath, ApprovalQuery } from './schema.ts';

export function approvalOperations() {
  return [
    project.read({
      id: 'approvals.list',
      method: 'GET',
      path: '/v1/approvals',
      posture: 'any',
      scope: 'approvals:read',
      summary: 'List approvals, newest first',
      description:
        'What waits for a person: `status=pending`. A smith token sees its own smith’s. Decide with ' +
        '`POST /v1/smiths/{sid}/runs/{rid}/submit` and `kind: "approval"`.',
      query: ApprovalQuery,
      reply: pageOf(Approval),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listApprovals,
    }),
    project.read({
      id: 'approvals.get',
      method: 'GET',
      path: '/v1/approvals/{id}',
      posture: 'any',
      scope: 'approvals:read',
      summary: 'Get an approval',
      params: ApprovalPath,
      reply: Approval,
      handler: getApproval,
    }),
  ];
}
