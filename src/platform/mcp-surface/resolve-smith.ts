/** Which smith a request runs as. */
import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../../kernel/http/errors.ts';
import type { ProjectCaller } from '../access/caller.ts';
import { requireSmith } from '../access/gate.ts';
import { loadSmithForTurn, type SmithForTurn } from '../engine/index.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import type { McpDeployment } from './find-deployment.ts';

/**
 * A smith token is its smith; a tenant-admin token names one with `IC-Smith-Id`, which a deployment of one smith does without.
 * Undefined: none was named, and the deployment is an agent's. Throws `smith_mismatch`, `smith_unresolved` and, for a smith
 * of another agent, `forbidden_target`.
 */
export async function resolveSmith(
  db: TenantDb,
  { target }: McpDeployment,
  caller: ProjectCaller,
  headers: IncomingHttpHeaders,
): Promise<SmithForTurn | undefined> {
  const named = headerOf(headers);
  if (named !== undefined) requireSmith(caller, named);
  const own = caller.kind === 'smith' ? caller.smithId : named;
  if ('smithId' in target) {
    if (own !== undefined && own !== target.smithId) {
      const message = 'This MCP server is one smith’s, and the request is for another. Use the server of that smith.';
      throw new ApiError('smith_mismatch', { message });
    }
    return load(db, target.smithId);
  }
  if (own === undefined) return undefined;
  const smith = await load(db, own);
  if (smith.agent_id === target.agentId) return smith;
  throw new ApiError('forbidden_target', {
    message: 'This MCP server is an agent’s, and the smith is none of that agent. Use a smith that runs on it.',
  });
}

/** Throws `smith_required`. */
export function requireNamed(smith: SmithForTurn | undefined): SmithForTurn {
  if (smith !== undefined) return smith;
  throw new ApiError('smith_required', {
    param: 'IC-Smith-Id',
    message: 'This MCP server is an agent’s: say which smith answers with `IC-Smith-Id`, or use a smith token.',
  });
}

async function load(db: TenantDb, id: string): Promise<SmithForTurn> {
  const smith = await loadSmithForTurn(db, id);
  if (smith !== undefined) return smith;
  throw new ApiError('smith_unresolved', {
    param: 'IC-Smith-Id',
    message: '`IC-Smith-Id` names no smith of this project. Correct it, or create the smith.',
  });
}

function headerOf(headers: IncomingHttpHeaders): string | undefined {
  const value = headers['ic-smith-id'];
  const text = Array.isArray(value) ? value[0] : value;
  return text === undefined || text === '' ? undefined : text;
}
