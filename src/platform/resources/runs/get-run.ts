import type { ProjectRead } from '../../access/operation.ts';
import { getRun as getRow } from '../../engine/index.ts';
import { executorOf } from '../../store/executor-of.ts';
import { renderRun } from './render-run.ts';
import type { Run, RunPath } from './schema.ts';

export async function getRun({ db, caller, params }: ProjectRead<{ params: RunPath }>): Promise<Run> {
  return renderRun(await getRow(executorOf(db), caller.projectId, params.rid, params.sid));
}
