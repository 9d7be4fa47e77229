import { getRun as getRow } from '../../engine/index.ts';
import type { ProjectRead } from '../../operation.ts';
import { renderRun } from './render-run.ts';
import type { Run, RunPath } from './schema.ts';

export async function getRun({ db, caller, params }: ProjectRead<{ params: RunPath }>): Promise<Run> {
  return renderRun(await getRow(db, caller.projectId, params.rid, params.sid));
}
