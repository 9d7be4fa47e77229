import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import type { BackgroundWork } from '../background-work.ts';
import type { PriceBook } from '../prices/price-book.ts';
import type { NoticeService } from '../registry/claims-notices.ts';
import type { Registry } from '../registry/registry.ts';
import type { Payments } from '../wallet/payments/payments.ts';

/** What orders work with. */
export interface OrderDependencies {
  readonly db: Database;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly prices: PriceBook;
  readonly payments: Payments;
  /** Undefined: names that trademarks claim are not sold. */
  readonly noticeService?: NoticeService | undefined;
  readonly logger: Logger;
  /** Orders whose callers were answered before they ended. */
  readonly background: BackgroundWork;
  /** The service's own nameservers, which a new name gets. */
  readonly nameservers: readonly string[];
  /** How often a lease is extended; for tests. Default: three times in its term. */
  readonly leaseBeatMs?: number;
}

/** Extended while a process works on the order (keep-lease.ts): one that lets its lease lapse has died. */
export const LEASE_MS = 60_000;
