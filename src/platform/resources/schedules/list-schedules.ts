import { ApiError } from '../../../kernel/http/errors.ts';
import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { renderSchedule } from './render-schedule.ts';
import type { ScheduleQuery, SmithPath } from './schema.ts';
import { isLiveSmith, listSchedules as listRows } from './store.ts';

export async function listSchedules({
  db,
  caller,
  params,
  query,
}: ProjectRead<{ params: SmithPath; query: ScheduleQuery }>) {
  const page = readPage(query, [viewOf(caller), 'smiths.schedules', params.sid]);
  if (!(await isLiveSmith(db, params.sid))) throw new ApiError('not_found');
  return pageReply(await listRows(db, params.sid, page), page, (row) => row.id, renderSchedule);
}
