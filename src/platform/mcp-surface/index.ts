/** MCP deployments: a surface for MCP clients, in the protocol's revisions 2025-11-25 and 2026-07-28. */
export { createMcpSurface, type McpSurface } from './surface.ts';
