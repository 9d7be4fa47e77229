import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { checkConfig } from '../../configuration/check-config.ts';
import { changeSmith } from '../../smiths/change-smith.ts';
import { checkProfile } from '../../smiths/check-profile.ts';
import { customerNotFound, lockLinkedSmith } from '../../smiths/customer-link.ts';
import { applyPatch } from '../../smiths/smith-state.ts';
import { lockSmith } from '../../smiths/smith-store.ts';
import { getSmith } from './get-smith.ts';
import type { Smith, SmithPatch, SmithPath } from './schema.ts';

export async function updateSmith({
  tx,
  caller,
  params,
  body,
}: ProjectChange<{ params: SmithPath; body: SmithPatch }>): Promise<Smith> {
  if (Object.keys(body).length === 0) throw new ApiError('empty_patch');
  checkProfile(body);
  checkConfig(body);
  const { smith, hasNext } =
    body.customer_id === undefined
      ? { smith: await lockSmith(tx, params.sid), hasNext: true }
      : await lockLinkedSmith(tx, params.sid, body.customer_id);
  if (!hasNext) throw customerNotFound();
  if (smith === undefined) throw new ApiError('not_found');
  await changeSmith(tx, caller, { smith, next: applyPatch(smith, body) });
  return getSmith({ db: tx, caller, params });
}
