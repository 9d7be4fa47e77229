import { ApiError } from '../../../../kernel/http/errors.ts';
import { actorOf } from '../../../access/caller.ts';
import type { ProjectChange } from '../../../access/operation.ts';
import { appendEvent } from '../../../feed/append-event.ts';
import { lockAgent } from '../store.ts';
import { type ReleaseDependencies, releaseBundle } from './release-bundle.ts';
import type { UiResourcePath } from './schema.ts';
import { changeResources } from './upload-ui.ts';

/** Takes the resource out of the draft. Versions that have it keep it. */
export async function deleteUi(
  deps: ReleaseDependencies,
  { tx, caller, params, log }: ProjectChange<{ params: UiResourcePath }>,
): Promise<void> {
  const agent = await lockAgent(tx, params.aid);
  const resource = agent?.draft.ui_resources.find(({ name }) => name === params.name);
  if (agent === undefined || resource === undefined) throw new ApiError('not_found');
  await changeResources(
    tx,
    agent,
    agent.draft.ui_resources.filter((one) => one !== resource),
  );
  await appendEvent(tx, {
    type: 'agent.updated',
    actor: actorOf(caller),
    data: { agent_id: agent.id, changed: ['ui_resources'] },
  });
  await releaseBundle(deps, tx, resource.content_hash, log);
}
