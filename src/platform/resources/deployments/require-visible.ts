import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import type { DeploymentRow } from './store.ts';

/** A smith token reaches deployments of its own smith: any other is as if it were not there. Throws `not_found`. */
export function requireVisible(caller: ProjectCaller, row: DeploymentRow | undefined): DeploymentRow {
  const isVisible = caller.kind === 'tenant' || row?.smith_id === caller.smithId;
  if (row === undefined || !isVisible) throw new ApiError('not_found');
  return row;
}
