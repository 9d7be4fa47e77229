import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import type { SchedulePath } from './schema.ts';
import { removeSchedule } from './store.ts';

export async function deleteSchedule({ tx, params }: ProjectChange<{ params: SchedulePath }>): Promise<void> {
  if (!(await removeSchedule(tx, params.sid, params.schid))) throw new ApiError('not_found');
}
