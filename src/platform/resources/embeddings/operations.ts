import type { Operation } from '../../../kernel/http/operation.ts';

export function embeddingOperations(_services: object): Operation<never>[] {
  return [];
}
