import type { File } from './schema.ts';
import type { FileRow } from './store.ts';

/** The public shape of a row. */
export function renderFile(row: FileRow): File {
  return {
    id: row.id,
    object: 'file',
    bytes: row.bytes,
    created_at: Math.floor(row.created_at.getTime() / 1000),
    ...(row.expires_at === null ? {} : { expires_at: Math.floor(row.expires_at.getTime() / 1000) }),
    filename: row.filename,
    purpose: row.purpose,
    status: 'processed',
    status_details: null,
  };
}
