/** MCP servers of tenants: which tools they have, and what calls them. */
export { HINT_SELECTORS, requiresApproval } from './approval-policy.ts';
export { McpFailure } from './client/failure.ts';
export { createDiscovery, type Discovery } from './discovery.ts';
export { mcpSecretContext } from './secret-context.ts';
