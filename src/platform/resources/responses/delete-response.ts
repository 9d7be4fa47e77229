import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { getResponseSegment, hideRun } from '../../surfaces/openai/index.ts';
import type { ResponsePath } from './schema.ts';

/** The responses of a run go together; the run itself stays among the smith's. */
export async function deleteResponse({ db, caller, params }: ProjectRead<{ params: ResponsePath }>) {
  const { run } = await getResponseSegment(db, caller, params.id);
  if (!(await hideRun(db, run.id))) throw new ApiError('not_found');
  return { id: params.id, object: 'response' as const, deleted: true as const };
}
