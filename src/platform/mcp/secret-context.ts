/** Where a server's secret lies, for the vault. */
export function mcpSecretContext(projectId: string, serverId: string): string {
  return `mcp_servers/${projectId}/${serverId}/secret`;
}
