/** Where the documents of UI resources go while they arrive. */

import { ApiError } from '../../../../kernel/http/errors.ts';
import type { UploadTarget } from '../../../../kernel/http/upload.ts';
import { mintId } from '../../../../kernel/ids/ids.ts';
import type { ProjectCaller } from '../../../access/caller.ts';
import { blobKey, discardBlob, type FileDependencies, keepBlob } from '../../files/index.ts';
import { JSON_FIELDS } from './schema.ts';

export const MAX_BUNDLE_BYTES = 5 * 1024 * 1024;
/** A tool with its schema, and what else JSON has between its tokens. */
const MAX_FIELD_BYTES = 128 * 1024;

export interface StoredDocument {
  readonly blobId: string;
  readonly bytes: number;
  readonly sha256: string;
}

export function bundleUploads(deps: FileDependencies): UploadTarget<ProjectCaller, StoredDocument> {
  return {
    field: 'file',
    maxBytes: MAX_BUNDLE_BYTES,
    maxFieldBytes: MAX_FIELD_BYTES,
    jsonFields: JSON_FIELDS,
    async store({ projectId }, part) {
      const blobId = mintId('ui');
      const stored = await keepBlob(
        deps,
        projectId,
        blobKey(projectId, blobId),
        asDocument(part.bytes),
        MAX_BUNDLE_BYTES,
      );
      return { blobId, ...stored };
    },
    discard: ({ projectId }, { blobId }) => discardBlob(deps, projectId, blobKey(projectId, blobId)),
  };
}

/** The same bytes. Throws `invalid_bundle` where they are no HTML in UTF-8. */
async function* asDocument(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let hasBegun = false;
  const decode = (chunk: Uint8Array | undefined) => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
    } catch (error) {
      throw invalidBundle('is no UTF-8', error);
    }
  };
  const check = (chunk: Uint8Array | undefined) => {
    const text = decode(chunk);
    if (text.includes('\u0000')) throw invalidBundle('has a NUL');
    const start = hasBegun ? '' : text.trimStart();
    if (start !== '' && !start.startsWith('<')) throw invalidBundle('does not begin with a tag');
    hasBegun ||= start !== '';
  };
  for await (const chunk of source) {
    check(chunk);
    yield chunk;
  }
  check(undefined);
  if (!hasBegun) throw invalidBundle('is empty');
}

function invalidBundle(problem: string, cause?: unknown): ApiError {
  return new ApiError('invalid_bundle', {
    param: 'file',
    message: `\`file\` must be one HTML document in UTF-8; this one ${problem}.`,
    ...(cause === undefined ? {} : { cause }),
  });
}
