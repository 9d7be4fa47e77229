import { BASE_PATH, workspace } from '../../operation.ts';
import { type DecideDependencies, decideTransferOut } from './decide-transfer-out.ts';
import { DecidedTransfer, TransferOutPath } from './schema.ts';

const DECIDES =
  'Another registrar asks for the domain while `transfer_out.state` of GET /domains/{name} is `pending`; its owner is told by mail. ' +
  'Without an answer the registry approves it by itself, at `acts_at`. Repeating a decision changes nothing.';

export function transferOutOperations(deps: DecideDependencies) {
  return [
    workspace.turn({
      id: 'transfers_out.approve',
      method: 'POST',
      path: `${BASE_PATH}/domains/{name}/transfer-out/approve`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Let a domain go to the registrar that asks for it',
      description: DECIDES,
      idempotent: true,
      params: TransferOutPath,
      reply: DecidedTransfer,
      errors: ['transfer_failed', 'pending_operation'],
      handler: decideTransferOut(deps, 'approve'),
    }),
    workspace.turn({
      id: 'transfers_out.reject',
      method: 'POST',
      path: `${BASE_PATH}/domains/{name}/transfer-out/reject`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Keep a domain that another registrar asks for',
      description: `${DECIDES} A domain with \`registrar_lock\` on cannot be asked for at all.`,
      idempotent: true,
      params: TransferOutPath,
      reply: DecidedTransfer,
      errors: ['transfer_failed', 'pending_operation'],
      handler: decideTransferOut(deps, 'reject'),
    }),
  ];
}
