import type { AnswerStore } from '../../idempotency-store.ts';
import type { OrderDependencies } from '../../orders/index.ts';

/** What the operations on domains work with. */
export interface DomainDependencies extends OrderDependencies {
  readonly answers: AnswerStore;
}
