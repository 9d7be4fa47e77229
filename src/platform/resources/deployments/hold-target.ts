import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import { requireReferences } from '../../access/references.ts';
import { holdAgents, holdSmiths } from '../../smiths/index.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';
import type { DeploymentIn } from './schema.ts';

/** Neither is archived before the transaction ends. Throws `not_found` and `agent_unpublished`. */
export async function holdTarget(
  tx: TenantTransaction,
  caller: ProjectCaller,
  { type, id }: DeploymentIn['target'],
): Promise<void> {
  const notFound = () =>
    new ApiError('not_found', { param: 'target.id', message: `This token can get no such ${type}. Nothing was made.` });
  await requireReferences(tx, caller, type, [id], notFound);
  if (type === 'smith') {
    if ((await holdSmiths(tx, [id])).length === 0) throw notFound();
    return;
  }
  const agent = (await holdAgents(tx, [id])).get(id);
  if (agent === undefined) throw notFound();
  if (agent.active_version === null) throw new ApiError('agent_unpublished', { param: 'target.id' });
}
