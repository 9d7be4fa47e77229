/** What the vault seals the secrets of a project's account for. */
export function channelAccountContext(projectId: string, kind: string): string {
  return `channel_accounts/${projectId}/${kind}`;
}
