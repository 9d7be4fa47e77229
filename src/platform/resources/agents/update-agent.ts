import { ApiError } from '../../../kernel/http/errors.ts';
import { actorOf } from '../../access/caller.ts';
import { requireConfigReferences } from '../../access/config-references.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { applySettings, compareDrafts } from './draft.ts';
import { getAgent } from './get-agent.ts';
import type { Agent, AgentPatch, AgentPath } from './schema.ts';
import { lockAgent, updateAgent as updateRow } from './store.ts';

/** Changes name and draft; smiths run what is published. A patch that changes nothing leaves no event. */
export async function updateAgent({
  tx,
  caller,
  params,
  body,
}: ProjectChange<{ params: AgentPath; body: AgentPatch }>): Promise<Agent> {
  const { name, ...settings } = body;
  if (Object.keys(body).length === 0) throw new ApiError('empty_patch');
  if (name === null) throw new ApiError('name_required', { param: 'name' });
  const agent = await lockAgent(tx, params.aid);
  if (agent === undefined) throw new ApiError('not_found');

  const next = { name: name ?? agent.name, draft: applySettings(agent.draft, settings) };
  await requireConfigReferences(tx, caller, next.draft, agent.draft);
  const changed = [...(next.name === agent.name ? [] : ['name']), ...compareDrafts(agent.draft, next.draft)];
  if (changed.length > 0) {
    await updateRow(tx, agent.id, next);
    await appendEvent(tx, {
      type: 'agent.updated',
      actor: actorOf(caller),
      data: { agent_id: agent.id, changed },
    });
  }
  return getAgent({ db: tx, caller, params });
}
