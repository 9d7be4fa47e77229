import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { BackgroundWork } from '../../background-work.ts';
import type { ZonePublisher } from '../../dns/publisher.ts';
import type { AnswerStore } from '../../idempotency-store.ts';
import type { PriceBook } from '../../prices/price-book.ts';
import type { Registry } from '../../registry/registry.ts';

/** What a change of settings works with. */
export interface SettingsDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly publisher: Pick<ZonePublisher, 'supportsDnssec'>;
  readonly answers: AnswerStore;
  readonly background: BackgroundWork;
  /** The service's own, lower case and sorted. */
  readonly nameservers: readonly string[];
  readonly prices: PriceBook;
}
