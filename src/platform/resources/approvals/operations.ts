import type { Operation } from '../../../kernel/http/operation.ts';

export function approvalOperations(): Operation<never>[] {
  return [];
}
