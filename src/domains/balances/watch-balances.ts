/**
 * The operator's accounts at registries: asked for now and then, learnt from messages and from refusals, and told of before they are empty.
 *
 * What is known is in the database, so that every replica shows it. Where more is left than was seen before, the orders
 * that wait for credit (2104) are sent again at once.
 */

import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { asLook } from '../../kernel/db/looks.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';
import { type Registry, type RegistryBalance, type RegistryMember, RegistryUnavailable } from '../registry/registry.ts';
import { systemDb } from '../workspace-scope.ts';
import {
  claimLook,
  listBalances,
  type StoredBalance,
  saveBalance,
  saveCreditRefusal,
  wakeWaiting,
} from './balance-store.ts';

interface BalanceDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
}

const LOOK_MS = 10 * 60_000;

/** Asks the registries that are due, each by one replica. Does not throw for what a registry does. */
export async function lookAtBalances(
  deps: BalanceDependencies & { readonly registry: Pick<Registry, 'members'> },
): Promise<void> {
  const { clock, db, logger, registry } = deps;
  for (const member of registry.members) {
    const now = clock.now();
    if (!(await claimLook(systemDb(asLook(db)), member.id, now, new Date(now.getTime() + LOOK_MS)))) continue;
    try {
      const balance = await member.readBalance();
      if (balance !== undefined) await noteBalance(deps, member, balance);
    } catch (error) {
      if (!(error instanceof RegistryUnavailable)) throw error;
      logger.warn({ registry: member.id, reason: error.message }, 'the registry does not tell its balance now');
    }
  }
}

export async function noteBalance(
  { clock, db, logger }: BalanceDependencies,
  { id, warnBelowCents, zones }: Pick<RegistryMember, 'id' | 'warnBelowCents' | 'zones'>,
  balance: RegistryBalance,
): Promise<void> {
  const { availableCents, currency, observedAt } = balance;
  const now = clock.now();
  const at = observedAt === undefined ? now : new Date(observedAt);
  const { before } = await saveBalance(systemDb(db), id, { availableCents, currency: currency ?? null }, at);
  if (availableCents > (before ?? 0)) await wakeWaiting(systemDb(db), zones, now);
  if (warnBelowCents === undefined || availableCents >= warnBelowCents) return;
  const fields = { registry: id, available: availableCents / 100, currency, warnBelow: warnBelowCents / 100 };
  logger.error(fields, 'our account at a registry has less than it should; pay the registry before it refuses orders');
}

/** The registry has carried something out no more, for want of credit (2104). */
export async function noteCreditRefusal(
  { clock, db }: Pick<BalanceDependencies, 'clock' | 'db'>,
  registry: string,
): Promise<void> {
  await saveCreditRefusal(systemDb(db), registry, clock.now());
}

/** Less than the operator wants, or nothing that a command could be paid with. */
export function isLow(
  { available_cents: cents, refused_at: refusedAt }: StoredBalance,
  warnBelowCents: number | undefined,
): boolean {
  return refusedAt !== null || (cents !== null && Number(cents) < (warnBelowCents ?? 0));
}

interface Measured {
  readonly db: Database;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly registry: Pick<Registry, 'members'>;
}

/** As any replica has learnt it. */
export function measureBalances({ db, logger, metrics, registry }: Measured): void {
  const read = async (set: (row: StoredBalance, member: RegistryMember) => void) => {
    const members = new Map(registry.members.map((member) => [member.id, member]));
    try {
      for (const row of await listBalances(systemDb(db))) {
        const member = members.get(row.registry);
        if (member !== undefined) set(row, member);
      }
    } catch (error) {
      // All other metrics are told while the database is away.
      logger.warn({ err: error }, 'the balances at the registries could not be read');
    }
  };
  metrics.sharedGauge(
    'domains_registry_balance',
    'What our account at each registry may still spend, in its currency, where it tells',
    ['registry'],
    (gauge) =>
      read(({ available_cents: cents }, { id }) => {
        if (cents !== null) gauge.set({ registry: id }, Number(cents) / 100);
      }),
  );
  metrics.sharedGauge(
    'domains_registry_balance_low',
    '1 where less is left than the operator wants, or the registry has refused something for want of credit',
    ['registry'],
    (gauge) => read((row, member) => gauge.set({ registry: member.id }, isLow(row, member.warnBelowCents) ? 1 : 0)),
  );
}
