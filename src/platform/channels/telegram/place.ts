/** Where a conversation is: a chat, and in a group with topics one of them. `-1001234/17`. */
export interface Place {
  readonly chatId: number;
  /** As members of a call. */
  readonly topic: { readonly message_thread_id?: number };
}

export function chatOf(chatId: number, topicId: number | undefined): string {
  return topicId === undefined ? String(chatId) : `${chatId}/${topicId}`;
}

export function placeOf(chat: string): Place {
  const [chatId, topicId] = chat.split('/');
  return { chatId: Number(chatId), topic: topicId === undefined ? {} : { message_thread_id: Number(topicId) } };
}
