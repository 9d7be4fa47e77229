import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { holdSmiths } from '../../smiths/index.ts';
import { storeCredential } from './create-connection.ts';
import type { ConnectionOperationDependencies } from './dependencies.ts';
import { renderConnection } from './render-connection.ts';
import type { Connection, ConnectionPatch, ConnectionPath } from './schema.ts';
import { type ConnectionRow, holdConnection, updateConnection as update } from './store.ts';

export function updateConnection(deps: ConnectionOperationDependencies) {
  return async ({
    tx,
    params,
    body,
  }: ProjectChange<{ params: ConnectionPath; body: ConnectionPatch }>): Promise<Connection> => {
    const { sid, cid } = params;
    if (Object.keys(body).length === 0) throw new ApiError('empty_patch');
    if ((await holdSmiths(tx, [sid])).length === 0) throw new ApiError('not_found');
    const present = await holdConnection(tx, sid, cid);
    if (present === undefined) throw new ApiError('not_found');
    const status = readStatus(body.status, present, body.credential != null);
    const scopes = body.scopes ?? undefined;
    const metadata = body.metadata ?? undefined;
    if (body.credential != null) {
      const { provider, scopes: before, metadata: kept } = present;
      const { credential } = body;
      await storeCredential(deps, tx, sid, {
        ...{ provider, credential, scopes: scopes ?? before, metadata: metadata ?? kept },
      });
    }
    const row = await update(tx, cid, {
      ...(status === undefined ? {} : { status }),
      ...(scopes === undefined ? {} : { scopes }),
      ...(metadata === undefined ? {} : { metadata }),
    });
    return renderConnection(row);
  };
}

/** `expired` is not set but found out, and ends with another credential alone. */
function readStatus(
  given: string | null | undefined,
  present: ConnectionRow,
  hasCredential: boolean,
): 'active' | 'disabled' | undefined {
  if (given == null) return undefined;
  if (given !== 'active' && given !== 'disabled') {
    const message = '`status` is set to `active` or `disabled`.';
    throw new ApiError('invalid_request', { param: 'status', message });
  }
  if (given === 'active' && present.status === 'expired' && !hasCredential) {
    const message =
      'The account has to be connected again, with `POST /v1/smiths/{sid}/connections/authorize`, or with a `credential`.';
    throw new ApiError('invalid_state', { param: 'status', message });
  }
  return given;
}
