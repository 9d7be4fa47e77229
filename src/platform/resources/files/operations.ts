import type { Operation } from '../../../kernel/http/operation.ts';

export function fileOperations(_services: object): Operation<never>[] {
  return [];
}
