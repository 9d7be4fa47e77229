/** The work that no request asks for: each part of it in one object that starts and stops. */
import type { Jobs } from '../kernel/jobs/jobs.ts';
import { createPeriodicWorker, SPARE_LOOK_MS } from '../kernel/periodic/periodic-worker.ts';
import { lookAfterAuthCodes } from './auth-codes/index.ts';
import { lookAtBalances } from './balances/index.ts';
import { resendChanges } from './changes/index.ts';
import { removeEndedNotices } from './claims/index.ts';
import { resendDeletions } from './deletions/index.ts';
import type { Dependencies } from './dependencies.ts';
import { refreshAliases } from './dns/alias/index.ts';
import { followDelegations } from './dns/delegation/index.ts';
import { createDnssecReconciler } from './dns/dnssec/dnssec-reconciler.ts';
import { createZoneReconciler } from './dns/index.ts';
import { createWebhookDeliveries, defineDeliverySweep } from './events/index.ts';
import { removeExpiredAnswers } from './idempotency-store.ts';
import { sendExpiryNotices } from './notices/index.ts';
import {
  createOrderWorker,
  defineMessageAudit,
  defineOrderAudit,
  type OrderWorker,
  placeRenewal,
} from './orders/index.ts';
import { defineMissingNames } from './portfolio/index.ts';
import { defineReceipts } from './receipts/index.ts';
import { defineRegistrantChanges } from './registrant-changes/index.ts';
import { type Zones, zonesByRegistry } from './registry/routing-registry.ts';
import { inBackground } from './registry/turns/command-turn.ts';
import {
  createRenewalWorker,
  createUnpaidNames,
  defineRenewals,
  defineUnpaidAudit,
  type RenewalWorker,
  type UnpaidNames,
  wakeRenewals,
} from './renewals/index.ts';
import { defineSignIns } from './resources/sign-ins/index.ts';
import { watchTransfers } from './transfers-out/index.ts';
import { defineRegistrantAudit, runVerifications } from './verifications/index.ts';
import { defineLedgerAudit, definePayments, findNextTopUpLook, mailDisputes, runAutoTopUps } from './wallet/index.ts';
import { systemDb } from './workspace-scope.ts';

export interface Workers {
  readonly orders: OrderWorker;
  readonly renewals: RenewalWorker;
  readonly unpaidNames: UnpaidNames;
  /** These do what is due; for tests, which control the clock. */
  resendDeletions(): Promise<void>;
  resendChanges(): Promise<void>;
  lookAfterAuthCodes(): Promise<void>;
  watchTransfers(): Promise<void>;
  followDelegations(): Promise<void>;
  refreshAliases(): Promise<void>;
  lookAtBalances(): Promise<void>;
  topUpWallets(): Promise<void>;
  runVerifications(): Promise<void>;
  start(): Promise<void>;
  /** Takes nothing more up, and waits for what is under way. */
  stop(): Promise<void>;
}

/** Defines the jobs too, so before they are started. */
export function createWorkers(deps: Dependencies): Workers {
  const { jobs } = deps;
  const orders = createOrderWorker(deps);
  const zones = createZoneReconciler(deps);
  const dnssec = createDnssecReconciler({ ...deps, zones });
  const renewals = createRenewalWorker({ ...deps, placeRenewal: (asked) => placeRenewal(deps, asked) });
  defineRenewals(jobs, renewals);
  const unpaidNames = createUnpaidNames(deps);
  defineUnpaidAudit(jobs, deps);
  defineRegistrantAudit(jobs, deps);
  const deletions = workAtEach(deps, 'deletions', DELETIONS_INTERVAL_MS, resendDeletions);
  const changes = workAtEach(deps, 'changes that wait', CHANGES_INTERVAL_MS, resendChanges);
  const authCodes = workAtEach(deps, 'auth codes', AUTH_CODES_INTERVAL_MS, lookAfterAuthCodes);
  const transfers = workAtEach(deps, 'transfers out', TRANSFERS_INTERVAL_MS, watchTransfers);
  const delegations = createPeriodicWorker({
    name: 'delegations',
    intervalMs: DELEGATIONS_INTERVAL_MS,
    store: deps.db,
    quietMs: SPARE_LOOK_MS,
    pass: (signal) => followDelegations(deps, signal),
    logger: deps.logger,
  });
  const aliases = createPeriodicWorker({
    name: 'aliases',
    intervalMs: ALIASES_INTERVAL_MS,
    store: deps.db,
    pass: (signal) => refreshAliases(deps, signal),
    logger: deps.logger,
  });
  const notices = createPeriodicWorker({
    name: 'expiry notices',
    intervalMs: NOTICES_INTERVAL_MS,
    store: deps.db,
    startsAtOnce: false,
    pass: (signal) => sendExpiryNotices(deps, signal),
    logger: deps.logger,
  });
  const balances = createPeriodicWorker({
    name: 'balances',
    intervalMs: BALANCES_INTERVAL_MS,
    store: deps.db,
    quietMs: SPARE_LOOK_MS,
    pass: (signal) => inBackground(() => lookAtBalances(deps), { signal }),
    logger: deps.logger,
  });
  const topUps = createPeriodicWorker({
    name: 'automatic top-ups',
    intervalMs: TOP_UPS_INTERVAL_MS,
    store: deps.db,
    quietMs: SPARE_LOOK_MS,
    async pass(signal) {
      await runAutoTopUps({ ...deps, onPaid: (tx) => wakeRenewals(jobs, tx) }, signal);
      await mailDisputes(deps);
      return findNextTopUpLook(deps);
    },
    logger: deps.logger,
  });
  const verifications = createPeriodicWorker({
    name: 'verifications of registrants',
    intervalMs: VERIFICATIONS_INTERVAL_MS,
    store: deps.db,
    quietMs: SPARE_LOOK_MS,
    pass: (signal) => runVerifications(deps, signal),
    logger: deps.logger,
  });
  // A renewal that the wallet did not cover may be charged as soon as it does.
  definePayments(jobs, { ...deps, onPaid: (tx) => wakeRenewals(jobs, tx) });
  defineLedgerAudit(jobs, deps);
  defineMissingNames(jobs, deps);
  defineOrderAudit(jobs, deps);
  defineMessageAudit(jobs, deps);
  defineAnswerSweep(jobs, deps);
  defineNoticeSweep(jobs, deps);
  defineReceipts(jobs, deps);
  defineSignIns(jobs, deps);
  defineRegistrantChanges(jobs, deps);
  defineDeliverySweep(jobs, deps);
  const webhooks = createWebhookDeliveries(deps);
  return {
    orders,
    renewals,
    unpaidNames,
    watchTransfers: transfers.runPass,
    followDelegations: delegations.runPass.bind(delegations),
    refreshAliases: aliases.runPass.bind(aliases),
    lookAtBalances: balances.runPass.bind(balances),
    topUpWallets: topUps.runPass.bind(topUps),
    runVerifications: verifications.runPass.bind(verifications),
    resendDeletions: deletions.runPass,
    resendChanges: changes.runPass,
    lookAfterAuthCodes: authCodes.runPass,
    async start() {
      await zones.start();
      await dnssec.start();
      orders.start();
      unpaidNames.start();
      deletions.start();
      changes.start();
      authCodes.start();
      transfers.start();
      delegations.start();
      aliases.start();
      notices.start();
      balances.start();
      topUps.start();
      verifications.start();
      await webhooks.start();
    },
    async stop() {
      await Promise.all([
        webhooks.stop(),
        verifications.stop(),
        topUps.stop(),
        notices.stop(),
        balances.stop(),
        aliases.stop(),
        delegations.stop(),
        transfers.stop(),
        deletions.stop(),
        changes.stop(),
        authCodes.stop(),
        unpaidNames.stop(),
        orders.stop(),
        dnssec.stop(),
        zones.stop(),
      ]);
    },
  };
}

/** One worker a registry: one that is away, slow, or takes few commands keeps no other's names waiting. */
function workAtEach(
  deps: Dependencies,
  name: string,
  intervalMs: number,
  work: (deps: Dependencies, zones: Zones, signal: AbortSignal) => Promise<number | undefined>,
) {
  const workers = zonesByRegistry(deps.registry).map(({ id, zones }) =>
    createPeriodicWorker({
      name: `${name} at ${id}`,
      intervalMs,
      store: deps.db,
      pass: (signal) => work(deps, zones, signal),
      logger: deps.logger,
    }),
  );
  return {
    start() {
      for (const worker of workers) worker.start();
    },
    async runPass() {
      await Promise.all(workers.map((worker) => worker.runPass()));
    },
    async stop() {
      await Promise.all(workers.map((worker) => worker.stop()));
    },
  };
}

const DELETIONS_INTERVAL_MS = 2_000;
const CHANGES_INTERVAL_MS = 5_000;
const AUTH_CODES_INTERVAL_MS = 30_000;
const TRANSFERS_INTERVAL_MS = 2_000;
/** Whether a registry is due to be asked. */
const BALANCES_INTERVAL_MS = 30_000;
/** A new record is looked up so soon. */
const ALIASES_INTERVAL_MS = 2_000;
const TOP_UPS_INTERVAL_MS = 2_000;
/** Who confirms the address of suspended names has them back so soon. */
const VERIFICATIONS_INTERVAL_MS = 5_000;
const DELEGATIONS_INTERVAL_MS = 60_000;
/** Auto-renew has looked at what is due by then. */
const NOTICES_INTERVAL_MS = 300_000;

const SWEEP_ANSWERS = 'domains.sweep-answers';

function defineAnswerSweep(jobs: Jobs, { db }: Dependencies): void {
  jobs.define(SWEEP_ANSWERS, () => removeExpiredAnswers(db), { concurrency: 1 });
  jobs.schedule(SWEEP_ANSWERS, '23 * * * *', {});
}

const SWEEP_NOTICES = 'domains.sweep-claims-notices';

function defineNoticeSweep(jobs: Jobs, { clock, db }: Dependencies): void {
  jobs.define(SWEEP_NOTICES, () => removeEndedNotices(systemDb(db), clock.now()), { concurrency: 1 });
  jobs.schedule(SWEEP_NOTICES, '37 * * * *', {});
}
