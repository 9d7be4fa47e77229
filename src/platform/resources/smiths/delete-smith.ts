import { ApiError } from '../../../kernel/http/errors.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import { actorOf, subjectOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { disconnectDeployments } from '../../channels/index.ts';
import { eraseConnections, removeLinks } from '../../connections/index.ts';
import { enqueueRunEnding } from '../../engine/index.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { countLeft } from '../../smiths/agent-membership.ts';
import { countMoved, lockLinkedSmith } from '../../smiths/customer-link.ts';
import { archiveSmith, removeModelKeys, revokeTokens } from '../../smiths/smith-store.ts';
import type { SmithPath } from './schema.ts';

/**
 * Archives the smith. A turn in flight runs to its end, one that waits for somebody is cancelled; its tokens end at once, its model keys and the accounts that are
 * connected to it are forgotten, its external id is free again, and its deployments are disconnected.
 */
export function deleteSmith(deps: { readonly jobs: Pick<Jobs, 'enqueue'> }) {
  return async (request: ProjectChange<{ params: SmithPath }>): Promise<void> => archive(deps, request);
}

async function archive(
  deps: { readonly jobs: Pick<Jobs, 'enqueue'> },
  { tx, caller, params }: ProjectChange<{ params: SmithPath }>,
): Promise<void> {
  const { projectId } = caller;
  const actor = actorOf(caller);
  const { smith } = await lockLinkedSmith(tx, params.sid, null);
  if (smith === undefined) throw new ApiError('not_found');
  await countMoved(tx, smith.customer_id, null);
  if (smith.agent_id !== null) await countLeft(tx, smith.agent_id, 1);
  await archiveSmith(tx, smith.id);
  await removeModelKeys(tx, smith.id);
  await eraseConnections(deps, tx, { smithId: smith.id });
  await removeLinks(tx, { smithId: smith.id });
  await disconnectDeployments(tx, { type: 'smith', id: smith.id });
  await enqueueRunEnding(deps.jobs, tx, smith.id);
  for (const token of await revokeTokens(tx, smith.id)) {
    await appendEvent(tx, {
      type: 'token.revoked',
      smithId: smith.id,
      actor,
      data: { token_id: token.id, sub: subjectOf(projectId, smith.id), name: token.name },
    });
  }
  await appendEvent(tx, {
    type: 'smith.deleted',
    smithId: smith.id,
    actor,
    data: { smith_id: smith.id },
  });
}
