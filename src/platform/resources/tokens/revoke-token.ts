import { ApiError } from '../../../kernel/http/errors.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { revokeToken as revoke } from '../../access/revoke-token.ts';
import type { TokenPath } from './schema.ts';

export async function revokeToken({ tx, caller, params }: ProjectChange<{ params: TokenPath }>): Promise<void> {
  const found = await revoke(tx, { tokenId: params.tid, actor: actorOf(caller) });
  if (!found) throw new ApiError('not_found');
}
