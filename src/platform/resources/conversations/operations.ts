import type { Operation } from '../../../kernel/http/operation.ts';

export function conversationOperations(_services: object): Operation<never>[] {
  return [];
}
