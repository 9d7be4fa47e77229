/** Where a server's secret lies, for the vault. */
export function mcpSecretContext(projectId: string, serverId: string): string {
  return `mcp_servers/${projectId}/${serverId}/secret`;
}

/** Where the session of a call that waits for a person lies. */
export function suspendedCallContext(call: {
  readonly projectId: string;
  readonly runId: string;
  readonly callId: string;
}): string {
  return `mcp_suspended_calls/${call.projectId}/${call.runId}/${call.callId}/session`;
}

/** Where lies what a run may send to the servers that its request brought. */
export function runCredentialsContext(projectId: string, runId: string): string {
  return `runs/${projectId}/${runId}/mcp_credentials`;
}
