/** What the service is given, and what its operations and workers work with. */
import type { Clock } from '../kernel/clock/clock.ts';
import type { Config } from '../kernel/config/config.ts';
import type { Database } from '../kernel/db/database.ts';
import type { Jobs } from '../kernel/jobs/jobs.ts';
import type { SharedBoss } from '../kernel/jobs/shared-boss.ts';
import type { Logger } from '../kernel/log/log.ts';
import type { Metrics } from '../kernel/metrics/metrics.ts';
import type { Outbound } from '../kernel/outbound/outbound.ts';
import type { Vault } from '../kernel/vault/vault.ts';
import type { BackgroundWork } from './background-work.ts';
import type { AliasTargets } from './dns/alias/index.ts';
import type { Delegations } from './dns/delegation/index.ts';
import type { ZonePublisher } from './dns/publisher.ts';
import type { AnswerStore } from './idempotency-store.ts';
import type { Mailer } from './mail/index.ts';
import type { PriceBook } from './prices/price-book.ts';
import type { Seller } from './receipts/index.ts';
import type { NoticeService } from './registry/claims-notices.ts';
import type { Registry } from './registry/registry.ts';
import type { RdapIdentity } from './resources/rdap/registrar-identity.ts';
import type { Payments } from './wallet/payments/payments.ts';

export interface GivenDependencies {
  readonly config: Pick<
    Config,
    | 'projectRequestsPerMinute'
    | 'addressRequestsPerMinute'
    | 'bodyLimitBytes'
    | 'trustProxy'
    | 'connections'
    | 'stallMs'
  >;
  /** The service's root, without the base path. */
  readonly publicUrl: string;
  readonly db: Database;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly registry: Registry;
  /** Where notices of trademark claims come from. Absent: names that trademarks claim are not sold. */
  readonly noticeService?: NoticeService | undefined;
  /** What is sold, and at which prices. */
  readonly prices: PriceBook;
  readonly publisher: ZonePublisher;
  readonly delegations: Delegations;
  readonly aliasTargets: AliasTargets;
  /** See `DnssecReconcilerOptions`. */
  readonly keyLifetimeMs?: number | undefined;
  readonly payments: Payments;
  readonly mailer: Mailer;
  /** The way to webhooks, whose addresses are their owners’. */
  readonly outbound: Pick<Outbound, 'checkUrl' | 'fetch'>;
  /** The service's own nameservers, lower case and sorted: a name that has just these is hosted here. */
  readonly nameservers: readonly string[];
  /** Play money of a new workspace; only with the simulated registry. */
  readonly demoCreditCents: number;
  /** Who issues receipts; absent: there are none. */
  readonly seller?: Seller | undefined;
  /** Who the registrar is, where RDAP is answered. Absent: it is not. */
  readonly rdap?: RdapIdentity;
  /** How long auth codes work. Default: see src/domains/auth-codes. */
  readonly authCodeDays?: number | undefined;
  readonly overloadDelayMs?: number;
  /** How often the lease of an order is extended; for tests. */
  readonly leaseBeatMs?: number;
  /** Who waits for work that goes on after its caller was answered; for tests. */
  readonly background?: BackgroundWork;
  /** Default: the queue in the database. Tests give one that runs jobs when they ask for it. */
  readonly jobs?: Jobs | undefined;
  /** Of the queue in the database: see JobsOptions. */
  readonly boss?: SharedBoss;
  /** Which operations are served, by id. Default: all. A test that opens many replicas serves the few that it calls: routes are most of what one costs. */
  readonly servesOperation?: (id: string) => boolean;
}

export interface Dependencies extends GivenDependencies {
  readonly jobs: Jobs;
  readonly answers: AnswerStore;
  readonly background: BackgroundWork;
}
