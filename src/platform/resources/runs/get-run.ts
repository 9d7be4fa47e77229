import type { ProjectRead } from '../../access/operation.ts';
import { getRun as getRow } from '../../engine/index.ts';
import { renderRun } from './render-run.ts';
import type { Run, RunPath } from './schema.ts';

export async function getRun({ db, params }: ProjectRead<{ params: RunPath }>): Promise<Run> {
  return renderRun(await getRow(db, params.rid, params.sid));
}
