import type { ProjectRead } from '../../access/operation.ts';
import { readStoreFile } from './get-store-file.ts';
import type { VectorStoreFilePath } from './schema.ts';
import { listChunkTexts } from './store-file-store.ts';

/** The chunks as they are searched, one part each: neighbours share the text of their overlap. */
export async function getStoreFileContent({ db, caller, params }: ProjectRead<{ params: VectorStoreFilePath }>) {
  await readStoreFile(db, caller, params);
  const texts = await listChunkTexts(db, params.vsId, params.fid);
  return {
    object: 'vector_store.file_content.page' as const,
    data: texts.map((text) => ({ type: 'text' as const, text })),
    has_more: false as const,
    next_page: null,
  };
}
