import { pageOf } from '../../../kernel/http/paging.ts';
import { project } from '../../access/operation.ts';
import { deleteMcpServer } from './delete-mcp-server.ts';
import type { McpServerDependencies } from './dependencies.ts';
import { getMcpServer, listMcpServers } from './list-mcp-servers.ts';
import { putMcpServer } from './put-mcp-server.ts';
import { refreshMcpServer } from './refresh-mcp-server.ts';
import { McpServer, McpServerIn, McpServerPath, McpServerQuery, NewMcpServerPath } from './schema.ts';

export function mcpServerOperations(deps: McpServerDependencies) {
  return [
    project.read({
      id: 'tenant.mcp.list',
      method: 'GET',
      path: '/v1/tenant/mcp',
      posture: 'tenant',
      summary: 'List registered MCP servers, newest first',
      description: 'With the tools of each, and never their secrets.',
      query: McpServerQuery,
      reply: pageOf(McpServer),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listMcpServers,
    }),
    project.read({
      id: 'tenant.mcp.get',
      method: 'GET',
      path: '/v1/tenant/mcp/{name}',
      posture: 'tenant',
      summary: 'Get a registered MCP server',
      params: McpServerPath,
      reply: McpServer,
      handler: getMcpServer,
    }),
    // `turn` rather than `change`: the address is looked up before the transaction begins, not inside it.
    project.turn({
      id: 'tenant.mcp.put',
      method: 'PUT',
      path: '/v1/tenant/mcp/{name}',
      posture: 'tenant',
      summary: 'Register an MCP server, or replace its registration',
      description:
        'Saved whatever the server says: it is asked for its tools afterwards, and `status` tells what became of that. ' +
        'Replaces the registration as a whole, but for a secret that is left out.',
      alsoStatus: [201],
      params: NewMcpServerPath,
      body: McpServerIn,
      example: { url: 'https://example.com/mcp', approval_policy: [{ match: 'delete_*' }] },
      reply: McpServer,
      errors: [
        'invalid_name',
        'url_required',
        'invalid_url',
        'unknown_catalog_entry',
        'invalid_auth_kind',
        'invalid_client_mode',
        'secret_required',
        'unknown_provider',
        'invalid_approval_policy',
        'unsupported_policy_rule',
      ],
      handler: putMcpServer(deps),
    }),
    project.change({
      id: 'tenant.mcp.delete',
      method: 'DELETE',
      path: '/v1/tenant/mcp/{name}',
      posture: 'tenant',
      summary: 'Delete an MCP server',
      description:
        'Turns that are under way do without its tools. Accounts that users have connected to it are deleted with it.',
      params: McpServerPath,
      handler: deleteMcpServer(deps),
    }),
    project.turn({
      id: 'tenant.mcp.refresh',
      method: 'POST',
      path: '/v1/tenant/mcp/{name}/refresh',
      posture: 'tenant',
      summary: 'Ask an MCP server for its tools again',
      description: 'Where that fails, the tools that it listed before stay.',
      params: McpServerPath,
      reply: McpServer,
      errors: ['connect_failed', 'discovery_failed', 'auth_required'],
      handler: refreshMcpServer(deps),
    }),
  ];
}
