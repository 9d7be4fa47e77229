import { ListQuery } from '../../list-page.ts';
import { BASE_PATH, workspace } from '../../operation.ts';
import { getWallet } from './get-wallet.ts';
import { listMovements } from './list-movements.ts';
import { WalletBalance, WalletLedger } from './schema.ts';

export function walletOperations() {
  return [
    workspace.read({
      id: 'wallet.get',
      method: 'GET',
      path: `${BASE_PATH}/wallet`,
      posture: 'workspace',
      scope: 'read',
      summary: 'Show what is in the wallet',
      reply: WalletBalance,
      handler: getWallet,
    }),
    workspace.read({
      id: 'wallet.list_movements',
      method: 'GET',
      path: `${BASE_PATH}/wallet/ledger`,
      posture: 'workspace',
      scope: 'read',
      summary: 'List every movement of the wallet',
      description:
        'Newest first. All `available_change_cents` together are what is available, all `held_change_cents` what is set aside.',
      query: ListQuery,
      reply: WalletLedger,
      handler: listMovements,
    }),
  ];
}
