import { posix } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { createInflateRaw } from 'node:zlib';
import type { BlobStore } from '../../../kernel/blobs/blobs.ts';
import { ByteContent, type ContentRange } from '../../../kernel/http/byte-content.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectRead } from '../../access/operation.ts';
import type { SkillFileEntry } from '../../tables.ts';
import { blobKey, openBlob } from '../files/index.ts';
import type { SkillContentQuery, SkillVersionPath } from './schema.ts';
import { findVersion, type SkillVersionRow } from './store.ts';

export async function getVersionContent(
  blobs: BlobStore,
  { db, caller, params, query }: ProjectRead<{ params: SkillVersionPath; query: SkillContentQuery }>,
): Promise<ByteContent> {
  const row = await findVersion(db, params.id, params.v);
  if (row === undefined) throw new ApiError('not_found');
  const key = blobKey(caller.projectId, row.archive_id);
  if (query.path === undefined) return describeArchive(blobs, key, row);
  const file = row.files.find(({ path }) => path === query.path);
  if (file === undefined) {
    throw new ApiError('not_found', { param: 'path', message: 'This version has no such file: see its `files`.' });
  }
  return new ByteContent({
    totalBytes: file.size,
    mediaType: file.media_type,
    etag: file.sha256,
    filename: posix.basename(file.path),
    open: async (range) => {
      const content = await openPackedFile(blobs, key, file);
      return range === undefined ? content : Readable.from(cut(content, range));
    },
  });
}

function describeArchive(blobs: BlobStore, key: string, row: SkillVersionRow): ByteContent {
  return new ByteContent({
    totalBytes: row.archive_bytes,
    mediaType: 'application/zip',
    etag: row.archive_sha256,
    filename: `${row.name}-${row.version}.zip`,
    open: (range) => openBlob(blobs, key, range),
  });
}

/** The file's bytes, inflated while they are read. Throws `storage_unavailable`. */
export async function openPackedFile(
  blobs: BlobStore,
  key: string,
  { packed_at: start, packed_bytes: bytes }: Pick<SkillFileEntry, 'packed_at' | 'packed_bytes'>,
): Promise<Readable> {
  const packed = await openBlob(blobs, key, { start, end: start + bytes - 1 });
  // What fails on the way fails the stream that is read.
  return pipeline(packed, createInflateRaw(), () => undefined);
}

async function* cut(content: Readable, { start, end }: ContentRange): AsyncGenerator<Uint8Array> {
  let at = 0;
  for await (const chunk of content as AsyncIterable<Buffer>) {
    const piece = chunk.subarray(Math.max(0, start - at), Math.max(0, end + 1 - at));
    at += chunk.byteLength;
    if (piece.byteLength > 0) yield piece;
    if (at > end) return;
  }
}
