import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectRead } from '../../access/operation.ts';
import type { MemoryOwner } from '../../knowledge/memory/index.ts';
import { findSmith } from '../../smiths/index.ts';
import type { SmithPath } from './schema.ts';

/** Whose memory the path names. Throws `not_found`. */
export async function requireSmith({ db, caller, params }: ProjectRead<{ params: SmithPath }>): Promise<MemoryOwner> {
  const { projectId } = caller;
  const smith = await findSmith(db, params.sid);
  if (smith === undefined) throw new ApiError('not_found');
  return { projectId, smithId: smith.id };
}
