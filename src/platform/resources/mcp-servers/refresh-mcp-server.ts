import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { McpFailure } from '../../mcp/index.ts';
import type { McpServerDependencies } from './dependencies.ts';
import { renderMcpServer } from './render-mcp-server.ts';
import type { McpServer, McpServerPath } from './schema.ts';
import { findMcpServer } from './store.ts';

const CODES = {
  connect: 'connect_failed',
  time: 'connect_failed',
  auth: 'auth_required',
  protocol: 'discovery_failed',
  refused: 'discovery_failed',
} as const;

/** What the server listed before stays where it does not answer. */
export function refreshMcpServer({ discovery }: Pick<McpServerDependencies, 'discovery'>) {
  return async ({ db, params, signal }: ProjectRead<{ params: McpServerPath }>): Promise<McpServer> => {
    const server = await findMcpServer(db, params.name);
    if (server === undefined) throw new ApiError('not_found');
    try {
      await discovery.refresh(db.projectId, server.id, signal);
    } catch (error) {
      if (!(error instanceof McpFailure)) throw error;
      const message = `The tools of the MCP server could not be listed: ${error.message}.`;
      throw new ApiError(CODES[error.kind], { message, cause: error });
    }
    const row = await findMcpServer(db, params.name);
    if (row === undefined) throw new ApiError('not_found');
    return renderMcpServer(row);
  };
}
