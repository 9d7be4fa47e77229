import { ApiError } from '../../../kernel/http/errors.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { getAgent } from './get-agent.ts';
import type { Agent, AgentPath, RolloutIn } from './schema.ts';
import { lockAgent, updateAgent } from './store.ts';

/**
 * Moves smiths to a version, from their next turn on:
 *
 *   100 %            the version becomes the active one, and no rollout is under way
 *   less             that share of the smiths runs it, the others stay on the active one
 *   the active one   whatever the share, everybody runs it: a rollout under way is called off
 */
export async function rollOutVersion({
  tx,
  caller,
  params,
  body,
}: ProjectChange<{ params: AgentPath; body: RolloutIn }>): Promise<Agent> {
  const { version, percent = 100 } = body;
  const agent = await lockAgent(tx, params.aid);
  if (agent === undefined) throw new ApiError('not_found');
  if (agent.active_version === null) throw new ApiError('agent_unpublished');
  if (version > agent.latest_version) {
    throw new ApiError('not_found', {
      param: 'version',
      message: `The agent has no version ${version}. Its newest is ${agent.latest_version}.`,
    });
  }
  const whole = percent === 100 || version === agent.active_version;
  const next = whole
    ? { active_version: version, rollout_version: null, rollout_percent: 0 }
    : { active_version: agent.active_version, rollout_version: version, rollout_percent: percent };
  await updateAgent(tx, agent.id, next);
  await appendEvent(tx, {
    type: 'agent.rollout_updated',
    actor: actorOf(caller),
    data: {
      agent_id: agent.id,
      version,
      percent,
      active_version: next.active_version,
      rollout_version: next.rollout_version,
    },
  });
  return getAgent({ db: tx, caller, params });
}
