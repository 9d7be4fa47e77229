/** What the vault seals the secrets of a deployment for. */
export function deploymentSecretContext(projectId: string, id: string): string {
  return `deployments/${projectId}/${id}`;
}
