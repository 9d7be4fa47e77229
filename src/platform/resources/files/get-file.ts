import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { renderFile } from './render-file.ts';
import type { File, FilePath } from './schema.ts';
import { smithOf } from './smith-of.ts';
import { findFile } from './store.ts';

export async function getFile({ db, caller, params }: ProjectRead<{ params: FilePath }>): Promise<File> {
  const row = await findFile(db, params.fid, smithOf(caller));
  if (row === undefined) throw new ApiError('not_found');
  return renderFile(row);
}
