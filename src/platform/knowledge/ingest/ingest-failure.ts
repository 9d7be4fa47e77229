import type { IngestFailure } from './file-status.ts';

export const FILE_DELETED: IngestFailure = {
  code: 'invalid_file',
  message: 'The file was deleted before it was indexed.',
};
