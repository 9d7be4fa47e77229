/** The domain service put together: every resource in one list, read top to bottom. */
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../kernel/clock/clock.ts';
import type { Config } from '../kernel/config/config.ts';
import type { Database } from '../kernel/db/database.ts';
import type { Operation } from '../kernel/http/operation.ts';
import { createService } from '../kernel/http/service.ts';
import { createJobs, type Jobs } from '../kernel/jobs/jobs.ts';
import type { Logger } from '../kernel/log/log.ts';
import type { Metrics } from '../kernel/metrics/metrics.ts';
import type { Vault } from '../kernel/vault/vault.ts';
import { createGate } from './access/gate.ts';
import type { ZonePublisher } from './dns/publisher.ts';
import { domainErrorDialect, domainErrors } from './errors.ts';
import { type AnswerStore, createAnswerStore } from './idempotency-store.ts';
import { BASE_PATH } from './operation.ts';
import { createOrderKeeper, type OrderKeeper } from './orders/index.ts';
import type { Registry } from './registry/registry.ts';
import { accountOperations } from './resources/accounts/operations.ts';
import { domainOperations } from './resources/domains/operations.ts';
import { defineLedgerAudit, definePayments } from './wallet/index.ts';
import type { Payments } from './wallet/payments/payments.ts';

/** How long a stop that was not announced waits for jobs under way; they run again elsewhere. */
const JOBS_GRACE_MS = 1_000;
/** How long answers that are being written may take once everything else has stopped. */
const CONNECTIONS_GRACE_MS = 500;

export interface DomainsParts {
  readonly config: Pick<
    Config,
    'projectRequestsPerMinute' | 'addressRequestsPerMinute' | 'bodyLimitBytes' | 'trustProxy'
  >;
  /** The service's root, without the base path. */
  readonly publicUrl: string;
  readonly db: Database;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly registry: Registry;
  readonly publisher: ZonePublisher;
  readonly payments: Payments;
  /** The service's own nameservers, lower case and sorted: a name that has just these is hosted here. */
  readonly nameservers: readonly string[];
  /** Play money of a new workspace; only with the simulated registry. */
  readonly demoCreditCents: number;
  readonly overloadDelayMs?: number;
}

export interface Domains {
  readonly orders: OrderKeeper;
  /** Not listening yet. */
  readonly app: FastifyInstance;
  readonly operations: readonly Operation<never>[];
  /** Begins to work on orders, renewals and zones. */
  start(): Promise<void>;
  drain(timeoutMs: number): Promise<void>;
  /** Closes the server and what it started. The database stays the caller's. */
  stop(): Promise<void>;
}

export interface Services extends DomainsParts {
  readonly jobs: Jobs;
  readonly answers: AnswerStore;
}

/** Every operation of the service. */
function listOperations(services: Services): Operation<never>[] {
  return [...accountOperations(services), ...domainOperations(services)];
}

export async function createDomains(parts: DomainsParts): Promise<Domains> {
  const { config, db, logger, metrics, registry, publisher } = parts;
  const jobs = createJobs(db, { logger });
  const services: Services = { ...parts, jobs, answers: createAnswerStore(parts.vault) };
  const orders = createOrderKeeper(services);
  definePayments(jobs, services);
  defineLedgerAudit(jobs, services);
  const operations = listOperations(services);
  const app = await createService({
    name: 'ironcraft-domains',
    title: 'Ironcraft domain registration',
    version: '1',
    description: DESCRIPTION,
    errors: domainErrors,
    errorDialect: domainErrorDialect,
    operations,
    gate: createGate(db),
    idempotency: services.answers,
    db,
    logger,
    metrics,
    publicUrl: `${parts.publicUrl}${BASE_PATH}`,
    basePath: BASE_PATH,
    ownerName: 'workspace',
    corsPrefix: BASE_PATH,
    requestsPerMinute: config.projectRequestsPerMinute,
    addressRequestsPerMinute: config.addressRequestsPerMinute,
    bodyLimitBytes: config.bodyLimitBytes,
    trustProxy: config.trustProxy,
    ...(parts.overloadDelayMs === undefined ? {} : { overloadDelayMs: parts.overloadDelayMs }),
  });
  return {
    app,
    orders,
    operations,
    async start() {
      await registry.start();
      await publisher.start();
      await jobs.start();
      orders.start();
    },
    async drain(timeoutMs) {
      await Promise.all([orders.stop(), jobs.stop({ graceMs: timeoutMs })]);
    },
    async stop() {
      await Promise.all([orders.stop(), jobs.stop({ graceMs: JOBS_GRACE_MS })]);
      await Promise.all([registry.stop(), publisher.stop()]);
      const cut = setTimeout(() => app.server.closeAllConnections(), CONNECTIONS_GRACE_MS);
      await app.close();
      clearTimeout(cut);
    },
  };
}

const DESCRIPTION = `Check, register, renew, transfer and manage domain names and their DNS records. Prices are EUR retail, and
every spending call names the price that it agrees to. Errors have one envelope, \`{error, details: {message}}\`; branch on
\`error\`. Every mutation honours \`Idempotency-Key\`: successes are stored for 24 hours and replayed.`;
