import { ListQuery } from '../../list-page.ts';
import { BASE_PATH, workspace } from '../../operation.ts';
import { createTopUp, type TopUpDependencies } from './create-top-up.ts';
import { getTopUp } from './get-top-up.ts';
import { listTopUps } from './list-top-ups.ts';
import { TopUp, TopUpCreate, TopUpList, TopUpPath } from './schema.ts';

export function topUpOperations(deps: TopUpDependencies) {
  return [
    workspace.turn({
      id: 'top_ups.create',
      method: 'POST',
      path: `${BASE_PATH}/wallet/top-ups`,
      posture: 'workspace',
      scope: 'write',
      summary: 'Put money into the wallet',
      description:
        'Opens a page on which a person pays by card; the wallet has the money about a minute after that. Ten may wait to be paid at a time.',
      idempotent: true,
      status: 201,
      body: TopUpCreate,
      reply: TopUp,
      errors: ['payment_failed'],
      handler: createTopUp(deps),
    }),
    workspace.read({
      id: 'top_ups.list',
      method: 'GET',
      path: `${BASE_PATH}/wallet/top-ups`,
      posture: 'workspace',
      scope: 'read',
      summary: 'List top-ups',
      description: 'Newest first, that of the sign-up too.',
      query: ListQuery,
      reply: TopUpList,
      handler: listTopUps,
    }),
    workspace.read({
      id: 'top_ups.get',
      method: 'GET',
      path: `${BASE_PATH}/wallet/top-ups/{top_up_id}`,
      posture: 'workspace',
      scope: 'read',
      summary: 'Get a top-up',
      params: TopUpPath,
      reply: TopUp,
      handler: getTopUp,
    }),
  ];
}
