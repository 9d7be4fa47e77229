/** The three operations of the one account that a project has of a kind. */
import type { Static, TSchema } from 'typebox';
import type { Operation } from '../../../kernel/http/operation.ts';
import { project } from '../../access/operation.ts';
import type { AccountKind } from './account-kind.ts';
import { deleteAccount } from './delete-account.ts';
import type { AccountDependencies } from './dependencies.ts';
import { getAccount } from './get-account.ts';
import { putAccount } from './put-account.ts';
import { shownAccount } from './schema.ts';

export function defineAccount<B extends TSchema>(deps: AccountDependencies, of: AccountKind<B>): Operation<never>[] {
  const { kind, name, shown } = of;
  const reply = shownAccount(shown.name, shown.own);
  const facts = { path: `/v1/tenant/${kind}`, posture: 'tenant' } as const;
  return [
    project.read({
      ...facts,
      id: `tenant.${kind}.get`,
      method: 'GET',
      summary: `Get the project’s ${name}`,
      description: 'Never its secrets. Without one, `configured` is false.',
      reply,
      handler: getAccount(of),
    }),
    // `turn` rather than `change`: the provider is asked outside of any transaction.
    project.turn({
      ...facts,
      id: `tenant.${kind}.put`,
      method: 'PUT',
      summary: `Set the project’s ${name}`,
      description: of.description,
      body: of.body,
      example: of.example,
      reply,
      errors: ['address_in_use', ...of.errors],
      handler: (request) => putAccount(deps, of, request, request.body as Static<B>),
    }),
    project.turn({
      ...facts,
      id: `tenant.${kind}.delete`,
      method: 'DELETE',
      summary: `Delete the project’s ${name}`,
      description: 'No message reaches it any more. Its deployments become `disconnected`.',
      errors: ['not_found'],
      handler: deleteAccount(deps, of),
    }),
  ];
}
