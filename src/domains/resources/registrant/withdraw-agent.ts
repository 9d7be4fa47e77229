import type { WorkspaceChange } from '../../operation.ts';
import { lockRegistrant } from '../../registrant.ts';
import { withdrawAuthorization } from '../../registrant-changes/index.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { type RegistrantDependencies, renderRegistrant } from './get-registrant.ts';
import type { Registrant } from './schema.ts';

/** Nothing where none is given or asked for. */
export function withdrawAgent(deps: RegistrantDependencies) {
  return async ({ caller, tx }: WorkspaceChange): Promise<Registrant> => {
    const db = workspaceDb(tx, caller.workspaceId);
    const registrant = await lockRegistrant(db);
    await withdrawAuthorization(tx, caller.workspaceId, registrant, deps.clock.now());
    return renderRegistrant(deps, db, registrant);
  };
}
