import type { BlobStore } from '../../../../kernel/blobs/blobs.ts';
import { ByteContent } from '../../../../kernel/http/byte-content.ts';
import { ApiError } from '../../../../kernel/http/errors.ts';
import type { ProjectRead } from '../../../access/operation.ts';
import { blobKey, openBlob } from '../../files/index.ts';
import { documentPolicy } from './document-policy.ts';
import { requireResource } from './find-resource.ts';
import type { UiResourcePath, UiResourceQuery } from './schema.ts';
import { findBundle } from './store.ts';

export async function getUiContent(
  blobs: BlobStore,
  { db, caller, params, query }: ProjectRead<{ params: UiResourcePath; query: UiResourceQuery }>,
): Promise<ByteContent> {
  const resource = await requireResource(db, params.aid, params.name, query.version);
  const bundle = await findBundle(db, resource.content_hash);
  // Replaced since, between the two looks.
  if (bundle === undefined) throw new ApiError('not_found');
  return new ByteContent({
    totalBytes: bundle.bytes,
    mediaType: 'text/html; charset=utf-8',
    etag: bundle.content_hash,
    filename: `${resource.name}.html`,
    contentSecurityPolicy: documentPolicy(resource.csp),
    open: (range) => openBlob(blobs, blobKey(caller.projectId, bundle.blob_id), range),
  });
}
