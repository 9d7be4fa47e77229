/** The work that no request asks for: each part of it in one object that starts and stops. */
import type { Jobs } from '../kernel/jobs/jobs.ts';
import type { Services } from './dependencies.ts';
import { createDnssecKeeper } from './dns/dnssec/dnssec-reconciler.ts';
import { createZoneKeeper } from './dns/index.ts';
import { removeExpiredAnswers } from './idempotency-store.ts';
import { createOrderKeeper, type OrderKeeper, placeRenewal } from './orders/index.ts';
import { createRenewalKeeper, defineRenewals, type RenewalKeeper } from './renewals/index.ts';
import { defineLedgerAudit, definePayments } from './wallet/index.ts';

export interface Keepers {
  readonly orders: OrderKeeper;
  readonly renewals: RenewalKeeper;
  start(): Promise<void>;
  /** Takes nothing more up, and waits for what is under way. */
  stop(): Promise<void>;
}

/** Defines the jobs too, so before they are started. */
export function createKeepers(services: Services): Keepers {
  const { jobs } = services;
  const orders = createOrderKeeper(services);
  const zones = createZoneKeeper(services);
  const dnssec = createDnssecKeeper({ ...services, zones });
  const renewals = createRenewalKeeper({ ...services, placeRenewal: (asked) => placeRenewal(services, asked) });
  defineRenewals(jobs, renewals);
  definePayments(jobs, services);
  defineLedgerAudit(jobs, services);
  defineAnswerSweep(jobs, services);
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

function defineAnswerSweep(jobs: Jobs, { db }: Services): void {
  jobs.define(SWEEP_ANSWERS, () => removeExpiredAnswers(db), { concurrency: 1 });
  jobs.schedule(SWEEP_ANSWERS, '23 * * * *', {});
}
