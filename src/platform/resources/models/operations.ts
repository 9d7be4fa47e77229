import type { Operation } from '../../../kernel/http/operation.ts';

export function modelOperations(): Operation<never>[] {
  return [];
}
