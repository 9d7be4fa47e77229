/** What the vault seals the value of a sandbox secret for. */
export function sandboxSecretContext(projectId: string, name: string): string {
  return `sandbox_secrets/${projectId}/${name}`;
}
