/** Files into a store: the part that every way of adding them shares. */
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import { actorOf, type ProjectCaller } from '../../access/caller.ts';
import { mayRefer } from '../../access/references.ts';
import { addFiles, dispatchFiles, listAttached, type NewStoreFile } from '../../knowledge/ingest/index.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';
import { holdSourceFiles } from './store-file-store.ts';
import { holdVisibleStore, requireUnexpired, smithOf } from './store-visibility.ts';

/** A file to add, and the request's member that names it. */
export interface FileToAttach extends NewStoreFile {
  readonly param: string;
}

export interface Attachment {
  readonly vectorStoreId: string;
  readonly files: readonly FileToAttach[];
  readonly batchId?: string;
}

/**
 * Adds the files and queues them. A file that is indexed there already, or being indexed, is `file_already_attached`; one
 * whose indexing failed or was cancelled is tried anew. Throws `invalid_state` for a store that has expired, and `not_found` for a store or a file that the caller does not
 * see; nothing is added then.
 */
export async function attachFiles(
  tx: TenantTransaction,
  jobs: Jobs,
  caller: ProjectCaller,
  { vectorStoreId, files, batchId }: Attachment,
): Promise<void> {
  const ids = files.map(({ fileId }) => fileId);
  const isReferable = mayRefer(caller, 'file');
  // Files before stores: whoever deletes a file takes the locks in that order too.
  const known = await holdSourceFiles(tx, ids, smithOf(caller));
  const store = await holdVisibleStore(tx, caller, vectorStoreId);
  requireUnexpired(store.isExpired);
  const missing = files.find(({ fileId }) => !isReferable || !known.has(fileId));
  if (missing !== undefined) {
    throw new ApiError('not_found', {
      param: missing.param,
      message:
        `No file with the id ${missing.fileId} is visible to this token. Upload it with POST /v1/files first, and refer ` +
        'to it with a token that has files:read.',
    });
  }
  const attached = new Set(await listAttached(tx, store, ids));
  const repeated = files.find(({ fileId }) => attached.has(fileId));
  if (repeated !== undefined) {
    throw new ApiError('file_already_attached', {
      param: repeated.param,
      message:
        `The file ${repeated.fileId} is already in the vector store. Change its attributes with ` +
        `POST /v1/vector_stores/${vectorStoreId}/files/${repeated.fileId}, or remove it first to index it anew.`,
    });
  }
  await addFiles(tx, store, files, { batchId: batchId ?? null, actor: actorOf(caller) });
  await dispatchFiles(tx, jobs);
}

/** Each file once, where it stands first. Throws `invalid_request` where a file is named twice with different settings. */
export function collapseRepeated(files: readonly FileToAttach[]): FileToAttach[] {
  const byId = new Map<string, FileToAttach>();
  for (const file of files) {
    const first = byId.get(file.fileId);
    if (first === undefined) {
      byId.set(file.fileId, file);
    } else if (settingsOf(first) !== settingsOf(file)) {
      throw new ApiError('invalid_request', {
        param: file.param,
        message: `\`${file.param}\` names a file that \`${first.param}\` names with other settings. Name it once.`,
      });
    }
  }
  return [...byId.values()];
}

function settingsOf({ attributes, chunkTokens, overlapTokens }: NewStoreFile): string {
  const sorted = attributes === null ? null : Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([sorted, chunkTokens, overlapTokens]);
}
