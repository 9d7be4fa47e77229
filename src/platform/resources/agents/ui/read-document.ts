import { text } from 'node:stream/consumers';
import type { BlobStore } from '../../../../kernel/blobs/blobs.ts';
import type { TenantDb } from '../../../store/tenant-db.ts';
import { blobKey, openBlob } from '../../files/index.ts';
import { findBundle } from './store.ts';

/** The document of this content. Undefined: nothing names it any more. Throws `storage_unavailable`. */
export async function readUiDocument(blobs: BlobStore, db: TenantDb, contentHash: string): Promise<string | undefined> {
  const bundle = await findBundle(db, contentHash);
  if (bundle === undefined) return undefined;
  return text(await openBlob(blobs, blobKey(db.projectId, bundle.blob_id)));
}
