import { ApiError } from '../../../kernel/http/errors.ts';
import { isId, withPrefix } from '../../../kernel/ids/ids.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { smithOf } from '../../access/references.ts';
import { findExternalTrace, findRunTrace } from '../../traces/index.ts';
import { renderTraceWithSpans } from './render-trace.ts';
import type { RunTracePath, TracePath, TraceWithSpans } from './schema.ts';

/** Of a run, or one that was pushed. */
export async function getTrace({ db, caller, params }: ProjectRead<{ params: TracePath }>): Promise<TraceWithSpans> {
  if (!isId('trc', params.tid)) throw new ApiError('not_found');
  const smithId = smithOf(caller);
  const trace =
    (await findRunTrace(db, withPrefix('run', params.tid), smithId)) ??
    (await findExternalTrace(db, params.tid, smithId));
  if (trace === undefined) throw new ApiError('not_found');
  return renderTraceWithSpans(trace);
}

export async function getRunTrace({
  db,
  caller,
  params,
}: ProjectRead<{ params: RunTracePath }>): Promise<TraceWithSpans> {
  const trace = await findRunTrace(db, params.rid, smithOf(caller));
  if (trace === undefined) throw new ApiError('not_found');
  return renderTraceWithSpans(trace);
}
