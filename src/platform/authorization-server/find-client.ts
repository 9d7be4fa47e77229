import type { Executor } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { ClientMetadata, OAuthClient } from './client.ts';
import { type ClientDocuments, isDocumentId } from './client-documents.ts';

/** A client that registered itself, or the one whose document is at this address. Throws `invalid_request` for anything else. */
export async function findClient(db: Executor, documents: ClientDocuments, id: string): Promise<OAuthClient> {
  if (isDocumentId(id)) return documents.get(id);
  const { rows } = await db.query<{ metadata: ClientMetadata; secret_hash: string | null }>({
    text: 'select metadata, secret_hash from oauth_clients where id = $1',
    values: [id],
  });
  const [row] = rows;
  if (row !== undefined) return { id, metadata: row.metadata, secretHash: row.secret_hash, isDocument: false };
  throw new ApiError('invalid_request', {
    param: 'client_id',
    message: 'No client with this `client_id` is known here. Register it anew at /oauth/register.',
  });
}
