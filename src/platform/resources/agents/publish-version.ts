import { ApiError } from '../../../kernel/http/errors.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { setsNothing } from './draft.ts';
import { renderVersion } from './render-agent.ts';
import type { AgentPath, AgentVersion, PublishIn } from './schema.ts';
import { findVersion, insertVersion, lockAgent, updateAgent } from './store.ts';

/** Freezes the draft as the next version. The first one is active at once; later ones wait to be rolled out. */
export async function publishVersion({
  tx,
  caller,
  params,
  body,
}: ProjectChange<{ params: AgentPath; body: PublishIn }>): Promise<AgentVersion> {
  const agent = await lockAgent(tx, params.aid);
  if (agent === undefined) throw new ApiError('not_found');
  if (setsNothing(agent.draft)) {
    throw new ApiError('empty_config', {
      message:
        'The draft sets nothing yet. Give it a model, instructions or tools with `PATCH /v1/agents/{aid}` first.',
    });
  }
  const version = agent.latest_version + 1;
  const activated = agent.active_version === null;
  const note = body.note ?? null;
  await insertVersion(tx, {
    agent_id: agent.id,
    version,
    snapshot: agent.draft,
    created_by: caller.tokenId,
    note,
  });
  await updateAgent(tx, agent.id, { latest_version: version, ...(activated ? { active_version: version } : {}) });
  await appendEvent(tx, {
    type: 'agent.version_published',
    actor: actorOf(caller),
    data: { agent_id: agent.id, version, activated, note },
  });
  const row = await findVersion(tx, agent.id, version);
  if (row === undefined) throw new Error('a version that was just inserted cannot be read');
  return renderVersion(row);
}
