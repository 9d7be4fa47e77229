import { pageOf } from '../../../kernel/http/paging.ts';
import { project } from '../../access/operation.ts';
import { createSuppression } from './create-suppression.ts';
import { deleteSuppression } from './delete-suppression.ts';
import { listSuppressions } from './list-suppressions.ts';
import { Suppression, SuppressionIn, SuppressionListQuery, SuppressionQuery } from './schema.ts';

const PATH = '/v1/tenant/email/suppressions';

export function emailSuppressionOperations() {
  return [
    project.read({
      id: 'tenant.email.suppressions.list',
      method: 'GET',
      path: PATH,
      posture: 'tenant',
      summary: 'List addresses that get no mail, newest first',
      query: SuppressionListQuery,
      reply: pageOf(Suppression),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listSuppressions,
    }),
    project.change({
      id: 'tenant.email.suppressions.create',
      method: 'POST',
      path: PATH,
      posture: 'tenant',
      summary: 'Send an address no mail any more',
      description:
        'Addresses that bounce or complain come here by themselves. What is for one of them fails with `email.send_failed`. One that is ' +
        'there already stays, with the new reason.',
      status: 201,
      body: SuppressionIn,
      example: { address: 'ada@example.com', reason: 'asked us to stop' },
      reply: Suppression,
      errors: ['invalid_address'],
      handler: createSuppression,
    }),
    project.change({
      id: 'tenant.email.suppressions.delete',
      method: 'DELETE',
      path: PATH,
      posture: 'tenant',
      summary: 'Send an address mail again',
      query: SuppressionQuery,
      errors: ['invalid_address', 'not_found'],
      handler: deleteSuppression,
    }),
  ];
}
