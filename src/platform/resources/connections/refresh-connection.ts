import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectRead } from '../../access/operation.ts';
import type { ConnectionOperationDependencies } from './dependencies.ts';
import { renderConnection } from './render-connection.ts';
import type { Connection, ConnectionPath } from './schema.ts';
import { findConnection } from './store.ts';

export function refreshConnection({ connections }: Pick<ConnectionOperationDependencies, 'connections'>) {
  return async ({ db, params, signal }: ProjectRead<{ params: ConnectionPath }>): Promise<Connection> => {
    const { sid, cid } = params;
    const row = await findConnection(db, sid, cid);
    if (row === undefined) throw new ApiError('not_found');
    if (row.status === 'disabled') throw new ApiError('invalid_state', { message: DISABLED });
    if (row.status === 'expired') throw new ApiError('refresh_failed');
    if (!row.has_refresh_token) throw new ApiError('refresh_failed', { message: NOTHING_TO_REFRESH });
    const failure = await connections.refresher.refresh(db.projectId, cid, row.credential_id, signal);
    if (failure?.kind === 'ended') throw new ApiError('refresh_failed');
    if (failure !== undefined) {
      const message = `The connection was not refreshed, and is as it was: ${failure.message}. Try again in a while.`;
      throw new ApiError('refresh_failed', { message });
    }
    const refreshed = await findConnection(db, sid, cid);
    if (refreshed === undefined) throw new ApiError('not_found');
    return renderConnection(refreshed);
  };
}

const DISABLED = 'The connection is disabled. Set its `status` to `active` first.';
const NOTHING_TO_REFRESH =
  'The connection has no refresh token. Connect the account again with `POST /v1/smiths/{sid}/connections/authorize`.';
