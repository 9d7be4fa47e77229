/** Files into vector stores: a durable job a file, which survives the death of its server. */
import type { BlobStore } from '../../../kernel/blobs/blobs.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import type { Embedders } from '../embed/index.ts';
import type { DocumentReader } from '../read/index.ts';

export interface IngestionParts {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly embedders: Embedders;
  readonly reader: DocumentReader;
  readonly logger: Logger;
}

export {
  addFiles,
  cancelBatchFiles,
  completeFile,
  failFile,
  type HeldStore,
  holdStore,
  type IngestFailure,
  listAttached,
  type NewStoreFile,
  removeFiles,
  type StoreFileRef,
} from './file-status.ts';
export { FILE_DELETED } from './ingest-failure.ts';

/** Defines the jobs. Call before `jobs.start`. */
export function defineIngestion(_jobs: Jobs, _parts: IngestionParts): void {}
