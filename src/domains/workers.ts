/** The work that no request asks for: each part of it in one object that starts and stops. */
import type { Jobs } from '../kernel/jobs/jobs.ts';
import type { Dependencies } from './dependencies.ts';
import { createDnssecReconciler } from './dns/dnssec/dnssec-reconciler.ts';
import { createZoneReconciler } from './dns/index.ts';
import { removeExpiredAnswers } from './idempotency-store.ts';
import { createOrderWorker, type OrderWorker, placeRenewal } from './orders/index.ts';
import { createRenewalWorker, defineRenewals, type RenewalWorker, wakeRenewals } from './renewals/index.ts';
import { defineLedgerAudit, definePayments } from './wallet/index.ts';

export interface Workers {
  readonly orders: OrderWorker;
  readonly renewals: RenewalWorker;
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
  // A renewal that the wallet did not cover may be charged as soon as it does.
  definePayments(jobs, { ...deps, onPaid: (tx) => wakeRenewals(jobs, tx) });
  defineLedgerAudit(jobs, deps);
  defineAnswerSweep(jobs, deps);
  return {
    orders,
    renewals,
    async start() {
      await zones.start();
      await dnssec.start();
      orders.start();
    },
    async stop() {
      await Promise.all([orders.stop(), dnssec.stop(), zones.stop()]);
    },
  };
}

const SWEEP_ANSWERS = 'domains.sweep-answers';

function defineAnswerSweep(jobs: Jobs, { db }: Dependencies): void {
  jobs.define(SWEEP_ANSWERS, () => removeExpiredAnswers(db), { concurrency: 1 });
  jobs.schedule(SWEEP_ANSWERS, '23 * * * *', {});
}
