/** Where secrets lie, for the vault. Each has an id of its own, so that it can be moved to where it is revoked. */
export function credentialContext(projectId: string, credentialId: string): string {
  return `connections/${projectId}/${credentialId}/credential`;
}

export function clientSecretContext(projectId: string, secretId: string): string {
  return `oauth_clients/${projectId}/${secretId}/secret`;
}

export function linkContext(projectId: string, stateHash: string): string {
  return `connection_links/${projectId}/${stateHash}/verifier`;
}
