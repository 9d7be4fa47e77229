import { ApiError } from '../../../kernel/http/errors.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { insertTombstone } from '../../store/tombstones.ts';
import { enqueuePurge } from './purge-conversation.ts';
import { requireConversation } from './require-conversation.ts';
import type { ConversationPath } from './schema.ts';
import { markDeleted } from './store.ts';

/** Gone for every caller and for recall at once; what was said in it is removed behind the answer. Its runs stay. */
export async function deleteConversation(
  jobs: Jobs,
  { tx, caller, params }: ProjectChange<{ params: ConversationPath }>,
) {
  const { id, smith_id } = await requireConversation(tx, caller, params.cnvId);
  if (!(await markDeleted(tx, id))) throw new ApiError('conversation_not_found');
  await insertTombstone(tx, 'conversation', { id, smith_id });
  await enqueuePurge(jobs, tx, id);
  return { id, object: 'conversation.deleted' as const, deleted: true as const };
}
