import type { AnswerStore } from '../../idempotency-store.ts';
import type { OrderDependencies } from '../../orders/index.ts';
import type { PriceBook } from '../../prices/price-book.ts';
import type { NoticeService } from '../../registry/claims-notices.ts';

/** What the operations on domains work with. */
export interface DomainDependencies extends OrderDependencies {
  readonly noticeService?: NoticeService | undefined;
  readonly answers: AnswerStore;
  readonly prices: PriceBook;
}
