import { ApiError } from '../../../kernel/http/errors.ts';
import { jsonBytes } from '../../../kernel/http/json-size.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { MAX_METADATA_BYTES } from '../../configuration/schema.ts';
import { changeSmith } from '../../smiths/change-smith.ts';
import { lockLinkedSmith } from '../../smiths/customer-link.ts';
import { findRevision } from '../../smiths/revision-store.ts';
import type { SmithState } from '../../smiths/smith-state.ts';
import { getSmith } from './get-smith.ts';
import type { RestoreIn, RevisionPath, Smith } from './schema.ts';

/** Makes the smith what it was after that revision. Nothing is rewound: it is a new revision. */
export async function restoreRevision({
  tx,
  caller,
  params,
  body,
}: ProjectChange<{ params: RevisionPath; body: RestoreIn }>): Promise<Smith> {
  const revision = await findRevision(tx, params.sid, params.n);
  if (revision === undefined) throw new ApiError('not_found');
  const next = revision.snapshot;
  if (jsonBytes(next.metadata, MAX_METADATA_BYTES) > MAX_METADATA_BYTES) throw tooLarge(params.n);
  const { smith, hasNext } = await lockLinkedSmith(tx, params.sid, next.customer_id);
  if (!hasNext) throw gone(params.n, describe(next, 'customer_id'));
  if (smith === undefined) throw new ApiError('not_found');
  try {
    await changeSmith(tx, caller, { smith, next, note: body.note ?? null, always: true });
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') {
      throw gone(params.n, describe(next, error.detail.param));
    }
    throw error;
  }
  return getSmith({ db: tx, caller, params });
}

/** What the smith referred to, by the member that could not be restored. */
function describe(state: SmithState, param: string | undefined): string {
  if (param === 'customer_id') return `worked for the customer ${state.customer_id}`;
  if (param === 'agent_id' || param === 'pin') return `followed the agent ${state.agent_id}`;
  return `had others in \`${param}\``;
}

/** Of a revision from before metadata had a limit. */
function tooLarge(version: number): ApiError {
  return new ApiError('invalid_request', {
    param: 'metadata',
    message:
      `The smith's metadata in revision ${version} has more than ${MAX_METADATA_BYTES} bytes of JSON in UTF-8. Set the ` +
      'fields that you want back with `PATCH /v1/smiths/{sid}`.',
  });
}

function gone(version: number, what: string): ApiError {
  return new ApiError('invalid_state', {
    message:
      `In revision ${version} the smith ${what}: not there for this token any more. ` +
      'Set the fields that you want back with `PATCH /v1/smiths/{sid}`.',
  });
}
