import type { Operation } from '../../../kernel/http/operation.ts';

export function memoryOperations(_services: object): Operation<never>[] {
  return [];
}
