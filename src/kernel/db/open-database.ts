import { join } from 'node:path';
import { connectEmbedded } from './connect-embedded.ts';
import { connectServer } from './connect-server.ts';
import type { Database } from './database.ts';
import type { StoreLogger } from './session.ts';

export interface OpenDatabaseOptions {
  /** A PostgreSQL server. Undefined: the embedded store, in `<dataDir>/database`. */
  readonly url?: string | undefined;
  readonly dataDir: string;
  /** Connections to the server; the embedded store has one. */
  readonly poolSize: number;
  /** What a new embedded store starts from, see EmbeddedOptions. */
  readonly template?: string;
  /** See ServerOptions. */
  readonly bookkeeping?: readonly string[];
  readonly logger?: StoreLogger;
}

/**
 * Opens the store that the configuration names. Rejects with StoreUnreachableError (server) or FolderInUseError
 * (embedded); both messages say what to do.
 */
export async function openDatabase(options: OpenDatabaseOptions): Promise<Database> {
  const { url, dataDir, poolSize, template, bookkeeping, logger } = options;
  const logging = logger === undefined ? {} : { logger };
  if (url !== undefined) return connectServer({ url, poolSize, ...(bookkeeping && { bookkeeping }), ...logging });
  return connectEmbedded({
    folder: join(dataDir, 'database'),
    ...(template !== undefined && { template }),
    ...logging,
  });
}
