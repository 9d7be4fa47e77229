import type { Operation } from '../../../kernel/http/operation.ts';

export function chatCompletionOperations(_services: object): Operation<never>[] {
  return [];
}
