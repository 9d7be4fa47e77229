import type { BlobStore } from '../../../kernel/blobs/blobs.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import type { Metrics } from '../../../kernel/metrics/metrics.ts';
import type { Embedders } from '../embed/index.ts';
import type { DocumentReader } from '../read/index.ts';

export interface IngestionDependencies {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly embedders: Embedders;
  readonly reader: DocumentReader;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** What the files and vector stores of a project may take together. */
  readonly projectStorageBytes: number;
}
