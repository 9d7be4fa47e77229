import type { ProjectRead } from '../../access/operation.ts';
import { cancelTurn, type Engine } from '../../engine/index.ts';
import { foldStored, getResponseSegment } from '../../surfaces/openai/index.ts';
import type { Response, ResponsePath } from './schema.ts';

/** A response that has ended is answered as it is: cancelling twice is one, and so is cancelling too late. */
export function cancelResponse(engine: Engine) {
  return async ({ db, caller, params }: ProjectRead<{ params: ResponsePath }>): Promise<Response> => {
    const segment = await getResponseSegment(db, caller, params.id);
    const before = await foldStored(db, segment);
    if (before.ended) return before.response as Response;
    const { run } = segment;
    const key = { projectId: run.project_id, smithId: run.smith_id, runId: run.id };
    await cancelTurn(engine, key);
    return (await foldStored(db, segment)).response as Response;
  };
}
