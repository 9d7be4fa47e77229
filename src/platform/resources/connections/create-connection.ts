import { ApiError } from '../../../kernel/http/errors.ts';
import { HttpReply } from '../../../kernel/http/operation.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { countConnections, saveConnection, sealCredential } from '../../connections/index.ts';
import { holdSmiths } from '../../smiths/index.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';
import { checkCredential } from './check-credential.ts';
import type { ConnectionOperationDependencies } from './dependencies.ts';
import { renderConnection } from './render-connection.ts';
import type { Connection, ConnectionIn, SmithPath } from './schema.ts';

/** Of one smith. */
const CONNECTIONS_MAX = 100;

/** One that the smith has is replaced under its id. */
export function createConnection(deps: ConnectionOperationDependencies) {
  return async ({
    tx,
    params,
    body,
  }: ProjectChange<{ params: SmithPath; body: ConnectionIn }>): Promise<HttpReply<Connection>> => {
    if ((await holdSmiths(tx, [params.sid])).length === 0) throw new ApiError('not_found');
    const { row, isNew } = await storeCredential(deps, tx, params.sid, body);
    if (isNew && (await countConnections(tx, params.sid)) > CONNECTIONS_MAX) {
      const message = `A smith has at most ${CONNECTIONS_MAX} connections. Delete one first.`;
      throw new ApiError('invalid_request', { message });
    }
    return new HttpReply(isNew ? 201 : 200, renderConnection(row));
  };
}

/** Hold the smith. Throws what `checkCredential` throws. */
export async function storeCredential(
  { vault, connections }: ConnectionOperationDependencies,
  tx: TenantTransaction,
  smithId: string,
  { provider, credential: given, scopes = [], metadata = {} }: ConnectionIn,
) {
  const { credential, expiry, origin } = await checkCredential(tx, provider, given);
  const saved = await saveConnection(tx, {
    ...sealCredential(vault, tx.projectId, credential),
    ...origin,
    smith_id: smithId,
    provider,
    scopes,
    metadata,
    expiry,
  });
  await connections.connected(tx, smithId, provider);
  return saved;
}
