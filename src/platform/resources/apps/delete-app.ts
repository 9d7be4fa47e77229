import { ApiError } from '../../../kernel/http/errors.ts';
import type { OrganizationChange } from '../../access/operation.ts';
import { disconnect } from '../../authorization-server/index.ts';
import type { AppPath } from './schema.ts';

/** Disconnecting it again changes nothing. */
export async function deleteApp({ tx, caller, params }: OrganizationChange<{ params: AppPath }>): Promise<void> {
  if (!(await disconnect(tx, caller, params.id))) throw new ApiError('not_found');
}
