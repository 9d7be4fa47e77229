import type { ProjectRead } from '../../access/operation.ts';
import { cancelTurn, type Engine } from '../../engine/index.ts';
import type { RunPath } from './schema.ts';

export function cancelRun(engine: Engine) {
  return async ({ caller, params }: ProjectRead<{ params: RunPath }>) => {
    const key = { projectId: caller.projectId, smithId: params.sid, runId: params.rid };
    await cancelTurn(engine, key);
    return { id: params.rid, status: 'cancelled' as const };
  };
}
