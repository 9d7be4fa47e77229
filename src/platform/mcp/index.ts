/** MCP servers of tenants: which tools they have, and what calls them. */
export { HINT_SELECTORS, requiresApproval } from './approval-policy.ts';
export type { ResultFiles } from './call-result.ts';
export { McpFailure } from './client/failure.ts';
export type { McpLimits } from './client/limits.ts';
export { createDiscovery, type Discovery } from './discovery.ts';
export { createRequestServers } from './request-servers.ts';
export { mcpSecretContext, runCredentialsContext, suspendedCallContext } from './secret-context.ts';
export type { AccountAccess, AccountLink, AccountOwner, NoAccess, RefusedAccess, SignIn } from './sign-in.ts';
export { createMcpTools } from './tool-source.ts';
