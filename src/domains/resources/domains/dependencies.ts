import type { AnswerStore } from '../../idempotency-store.ts';
import type { OrderServices } from '../../orders/index.ts';

/** What the operations on domains work with. */
export interface DomainServices extends OrderServices {
  readonly answers: AnswerStore;
}
