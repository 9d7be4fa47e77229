import type { Operation } from '../../../kernel/http/operation.ts';

export function vectorStoreOperations(_services: object): Operation<never>[] {
  return [];
}
