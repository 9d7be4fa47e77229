import type { Operation } from '../../../kernel/http/operation.ts';

export function responseOperations(_services: object): Operation<never>[] {
  return [];
}
