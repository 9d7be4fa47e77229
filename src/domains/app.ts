/** The domain service put together: every resource in one list, read top to bottom. */
import type { FastifyInstance } from 'fastify';
import type { Operation } from '../kernel/http/operation.ts';
import { createService } from '../kernel/http/service.ts';
import { createLifecycle, jobsWorker, type Resource, type ServiceLifecycle } from '../kernel/http/service-lifecycle.ts';
import { createJobs } from '../kernel/jobs/jobs.ts';
import { createGate } from './access/gate.ts';
import { createTokenVerifier } from './access/verify-token.ts';
import { type BackgroundWork, createBackgroundWork } from './background-work.ts';
import { measureBalances } from './balances/index.ts';
import type { Dependencies, GivenDependencies } from './dependencies.ts';
import { domainErrorDialect, domainErrors } from './errors.ts';
import { createAnswerStore } from './idempotency-store.ts';
import { BASE_PATH } from './operation.ts';
import type { OrderWorker } from './orders/index.ts';
import { endPlay } from './play-money/index.ts';
import { referenceTopics } from './reference.ts';
import type { Registry } from './registry/registry.ts';
import { watchRegistries } from './registry/watch-registries.ts';
import type { RenewalWorker, UnpaidNames } from './renewals/index.ts';
import { accountOperations } from './resources/accounts/operations.ts';
import { authCodeOperations } from './resources/auth-codes/operations.ts';
import { autoTopUpOperations } from './resources/auto-top-up/operations.ts';
import { availabilityOperations } from './resources/availability/operations.ts';
import { claimsNoticeOperations } from './resources/claims-notices/operations.ts';
import { delegationSignerOperations } from './resources/delegation-signers/operations.ts';
import { disputeOperations } from './resources/disputes/operations.ts';
import { domainOperations } from './resources/domains/operations.ts';
import { eventOperations } from './resources/events/operations.ts';
import { orderOperations } from './resources/orders/operations.ts';
import { rdapOperations } from './resources/rdap/operations.ts';
import { receiptOperations } from './resources/receipts/operations.ts';
import { registrantOperations } from './resources/registrant/operations.ts';
import { settingsOperations } from './resources/settings/operations.ts';
import { signInOperations } from './resources/sign-ins/operations.ts';
import { suggestionOperations } from './resources/suggestions/operations.ts';
import { tldOperations } from './resources/tlds/operations.ts';
import { tokenOperations } from './resources/tokens/operations.ts';
import { topUpOperations } from './resources/top-ups/operations.ts';
import { transferOutOperations } from './resources/transfers-out/operations.ts';
import { walletOperations } from './resources/wallet/operations.ts';
import { webhookOperations } from './resources/webhooks/operations.ts';
import { zoneOperations } from './resources/zones/operations.ts';
import { createWorkers } from './workers.ts';

export interface Domains extends ServiceLifecycle {
  readonly orders: OrderWorker;
  readonly renewals: RenewalWorker;
  readonly unpaidNames: UnpaidNames;
  resendDeletions(): Promise<void>;
  resendChanges(): Promise<void>;
  lookAfterAuthCodes(): Promise<void>;
  watchTransfers(): Promise<void>;
  followDelegations(): Promise<void>;
  refreshAliases(): Promise<void>;
  lookAtBalances(): Promise<void>;
  topUpWallets(): Promise<void>;
  runVerifications(): Promise<void>;
  /** Not listening yet. */
  readonly app: FastifyInstance;
  readonly operations: readonly Operation<never>[];
}

/** Every operation of the service. */
function listOperations(deps: Dependencies): Operation<never>[] {
  return [
    ...availabilityOperations(deps),
    ...suggestionOperations(deps),
    ...tldOperations(deps),
    ...accountOperations(deps),
    ...domainOperations(deps),
    ...claimsNoticeOperations(deps),
    ...settingsOperations(deps),
    ...authCodeOperations(deps),
    ...zoneOperations(deps),
    ...delegationSignerOperations(deps),
    ...registrantOperations(deps),
    ...transferOutOperations(deps),
    ...walletOperations(),
    ...topUpOperations(deps),
    ...autoTopUpOperations(deps),
    ...disputeOperations(deps),
    ...receiptOperations(),
    ...orderOperations(deps),
    ...eventOperations(),
    ...webhookOperations(deps),
    ...tokenOperations(deps),
    ...signInOperations(deps),
    ...(deps.rdap === undefined ? [] : rdapOperations({ ...deps, registrar: deps.rdap })),
  ];
}

export async function createDomains(given: GivenDependencies): Promise<Domains> {
  const { config, db, logger, metrics, registry, publisher } = given;
  const jobs = given.jobs ?? createJobs(db, { logger, boss: given.boss });
  const background = given.background ?? createBackgroundWork(logger);
  const deps: Dependencies = { ...given, jobs, background, answers: createAnswerStore(given.vault) };
  watchRegistries(deps);
  measureBalances(deps);
  const workers = createWorkers(deps);
  const { servesOperation = () => true } = given;
  const operations = listOperations(deps).filter(({ id }) => servesOperation(id));
  const app = await createService({
    name: 'ironcraft-domains',
    title: 'Ironcraft domain registration',
    version: '1',
    description: DESCRIPTION,
    errors: domainErrors,
    errorDialect: domainErrorDialect,
    bearerFormat: 'opaque',
    operations,
    topics: referenceTopics,
    gate: createGate(createTokenVerifier(db)),
    idempotency: deps.answers,
    db,
    logger,
    metrics,
    publicUrl: `${given.publicUrl}${BASE_PATH}`,
    basePath: BASE_PATH,
    ownerName: 'workspace',
    corsPrefixes: [BASE_PATH],
    requestsPerMinute: config.projectRequestsPerMinute,
    addressRequestsPerMinute: config.addressRequestsPerMinute,
    bodyLimitBytes: config.bodyLimitBytes,
    trustProxy: config.trustProxy,
    connections: config.connections,
    stallMs: config.stallMs,
    ...(given.overloadDelayMs === undefined ? {} : { overloadDelayMs: given.overloadDelayMs }),
  });
  return {
    app,
    orders: workers.orders,
    renewals: workers.renewals,
    unpaidNames: workers.unpaidNames,
    resendDeletions: workers.resendDeletions,
    resendChanges: workers.resendChanges,
    lookAfterAuthCodes: workers.lookAfterAuthCodes,
    watchTransfers: workers.watchTransfers,
    followDelegations: workers.followDelegations,
    refreshAliases: workers.refreshAliases,
    lookAtBalances: workers.lookAtBalances,
    topUpWallets: workers.topUpWallets,
    runVerifications: workers.runVerifications,
    operations,
    ...createLifecycle({
      app,
      resources: [realMoneyAlone(deps), untilIdle(registry, background), publisher],
      workers: [jobsWorker(jobs), workers],
    }),
  };
}

/** How long what was under way may take to write down that the registry has stopped. */
const BACKGROUND_GRACE_MS = 5_000;

/** The registry, which what goes on after its caller was answered still uses: that ends once it gets no more answers. */
function untilIdle(registry: Registry, background: BackgroundWork): Resource {
  return {
    start: () => registry.start(),
    async stop() {
      await registry.stop();
      await background.idle(BACKGROUND_GRACE_MS);
    },
  };
}

/** Before anything else begins: play money never buys a real name. */
function realMoneyAlone(deps: Dependencies): Resource {
  return {
    async start() {
      if (deps.registry.kind !== 'simulated') await endPlay(deps);
    },
    async stop() {},
  };
}

const DESCRIPTION = `Check, register, renew, transfer and manage domain names and their DNS records. Prices are EUR retail, and
every spending call names the price that it agrees to. Errors have one envelope, \`{error, details: {message}}\`; branch on
\`error\`. Every mutation honours \`Idempotency-Key\`: successes are stored for 24 hours and replayed.`;
