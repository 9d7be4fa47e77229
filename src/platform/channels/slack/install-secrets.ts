/** What the vault seals a bot's token for that an installation brought. */
export function slackInstallContext(projectId: string, accountId: string, teamId: string): string {
  return `slack_installs/${projectId}/${accountId}/${teamId}`;
}
