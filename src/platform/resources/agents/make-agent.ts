import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { actorOf, type ProjectCaller } from '../../access/caller.ts';
import { appendEvent } from '../../feed/append-event.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';
import { getAgent } from './get-agent.ts';
import type { Agent } from './schema.ts';
import { insertAgent, type NewAgent } from './store.ts';

/** Makes an agent, from a request or from a smith (`importedFrom`). Throws `agent_exists` for a slug in use. */
export async function makeAgent(
  tx: TenantTransaction,
  caller: ProjectCaller,
  agent: Omit<NewAgent, 'id'>,
  importedFrom: string | null,
): Promise<Agent> {
  const id = mintId('agt');
  if (!(await insertAgent(tx, { id, ...agent }))) {
    throw new ApiError('agent_exists', { param: 'slug' });
  }
  await appendEvent(tx, {
    type: 'agent.created',
    actor: actorOf(caller),
    data: { agent_id: id, slug: agent.slug, name: agent.name, imported_from: importedFrom },
  });
  return getAgent({ db: tx, caller, params: { aid: id } });
}
