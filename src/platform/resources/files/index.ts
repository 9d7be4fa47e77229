/** What other resources may ask of files. */
import type { Executor } from '../../../kernel/db/database.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { type FileRow, findFile as findRow } from './store.ts';

export { blobKey } from './blob-key.ts';
export { openFile } from './get-content.ts';
export { renderFile } from './render-file.ts';
export { type InlineFile, saveInlineFile } from './save-inline-file.ts';
export type { FileRow } from './store.ts';
export { createTurnFiles } from './turn-files.ts';

/** The file, listed or not. With a smith, that smith's alone; null: any of the project. */
export async function findFile(
  db: Executor,
  projectId: string,
  fileId: string,
  smithId: string | null,
): Promise<FileRow | undefined> {
  return findRow(tenantDb(db, projectId), fileId, smithId ?? undefined);
}
