/** What the vault seals what an answer needs for, from the message that brought it until it is sent. */
export function replyContext(projectId: string, accountId: string, chat: string): string {
  return `channel_replies/${projectId}/${accountId}/${chat}`;
}
