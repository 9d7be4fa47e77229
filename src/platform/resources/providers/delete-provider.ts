import { ApiError } from '../../../kernel/http/errors.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { eraseConnections, removeLinks } from '../../connections/index.ts';
import { appendEvent } from '../../feed/append-event.ts';
import type { ProviderDependencies } from './dependencies.ts';
import type { ProviderPath } from './schema.ts';
import { holdProvider, removeProvider } from './store.ts';

/** With every account that is connected to it or by its client: what they are worth ends with it. */
export function deleteProvider(deps: Pick<ProviderDependencies, 'jobs'>) {
  return async ({ tx, caller, params }: ProjectChange<{ params: ProviderPath }>): Promise<void> => {
    const { provider } = params;
    if ((await holdProvider(tx, provider)) === undefined) throw new ApiError('not_found');
    await eraseConnections(deps, tx, { provider });
    await eraseConnections(deps, tx, { clientProvider: provider });
    await removeLinks(tx, { provider });
    await removeProvider(tx, provider);
    await appendEvent(tx, { type: 'provider.deleted', actor: actorOf(caller), data: { provider } });
  };
}
