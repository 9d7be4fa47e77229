import { ApiError } from '../../../kernel/http/errors.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { disconnectDeployments } from '../../channels/index.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { DEFAULT_AGENT_SLUG } from './render-agent.ts';
import type { AgentPath } from './schema.ts';
import { archiveAgent, lockAgent } from './store.ts';

/** Archives the agent. A smith that is just joining holds the agent too, so the count cannot be out of date. */
export async function deleteAgent({ tx, caller, params }: ProjectChange<{ params: AgentPath }>): Promise<void> {
  const agent = await lockAgent(tx, params.aid);
  if (agent === undefined) throw new ApiError('not_found');
  if (agent.slug === DEFAULT_AGENT_SLUG) throw new ApiError('default_agent');
  if (agent.smith_count > 0) {
    throw new ApiError('agent_in_use', {
      message: `${agent.smith_count} smiths still follow this agent. Move them to another agent or archive them first.`,
      details: { smith_count: agent.smith_count },
    });
  }
  await archiveAgent(tx, agent.id);
  await disconnectDeployments(tx, { type: 'agent', id: agent.id });
  await appendEvent(tx, {
    type: 'agent.deleted',
    actor: actorOf(caller),
    data: { agent_id: agent.id },
  });
}
