import type { RawBody } from '../../../kernel/http/request-body.ts';
import type { ProjectRead } from '../../access/operation.ts';
import type { McpSurface } from '../../mcp-surface/index.ts';
import type { DeploymentPath } from './schema.ts';

export function callMcp({ mcpSurface }: { readonly mcpSurface: McpSurface }) {
  return ({ params, ...request }: ProjectRead<{ params: DeploymentPath; body: RawBody }>) =>
    mcpSurface.answer({
      db: request.db,
      caller: request.caller,
      deploymentId: params.depid,
      headers: request.headers,
      body: request.body,
      signal: request.signal,
    });
}
