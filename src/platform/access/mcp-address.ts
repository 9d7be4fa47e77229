/** Where the MCP server of a deployment is: also what its tokens are issued for (RFC 8707). */

export function mcpPath(deploymentId: string): string {
  return `/v1/deployments/${deploymentId}/mcp`;
}

export function mcpAddress(publicUrl: string, deploymentId: string): string {
  return `${publicUrl}${mcpPath(deploymentId)}`;
}

/** The deployment whose MCP server has this address; undefined where it is none of this server's. */
export function deploymentAt(publicUrl: string, address: string): string | undefined {
  if (!address.startsWith(`${publicUrl}/`)) return undefined;
  return /^\/v1\/deployments\/([\w-]{1,128})\/mcp\/?$/.exec(address.slice(publicUrl.length))?.[1];
}
