/** What an operator is told of the accounts at registries. */
import type { Clock } from '../../kernel/clock/clock.ts';
import { sleep } from '../../kernel/clock/timers.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { VerbHandlers } from '../../kernel/operator/index.ts';
import { countWaiting, isLow, listBalances, noteBalance } from '../balances/index.ts';
import { type RegistryMember, RegistryUnavailable } from '../registry/registry.ts';
import { systemDb } from '../workspace-scope.ts';
import type { DomainVerbs } from './verbs.ts';

/** What the configuration says of a registry. */
export type KnownRegistry = Pick<RegistryMember, 'id' | 'warnBelowCents' | 'zones'> &
  Partial<Pick<RegistryMember, 'readBalance'>>;

/** For an answer of a registry that is asked; what is known stands in for a later one. */
const ASK_MS = 5_000;

export interface BalanceVerbDependencies {
  readonly db: Database;
  readonly clock: Clock;
  /** Absent: no registry is asked. */
  readonly logger?: Logger | undefined;
  readonly registries?: readonly KnownRegistry[] | undefined;
}

export function createBalanceVerbs({
  clock,
  db,
  logger,
  registries = [],
}: BalanceVerbDependencies): Pick<VerbHandlers<DomainVerbs>, 'registry_balances'> {
  return {
    async registry_balances() {
      if (logger !== undefined) {
        await Promise.all(registries.map((registry) => askWithin({ clock, db, logger }, registry, ASK_MS)));
      }
      const rows = new Map((await listBalances(systemDb(db))).map((row) => [row.registry, row]));
      const balances = registries.map(async ({ id, warnBelowCents, zones }) => {
        const row = rows.get(id);
        const cents = row?.available_cents ?? null;
        return {
          registry: id,
          available_cents: cents === null ? null : Number(cents),
          currency: row?.currency ?? null,
          observed_at: row?.observed_at?.toISOString() ?? null,
          warn_below_cents: warnBelowCents ?? null,
          refused_at: row?.refused_at?.toISOString() ?? null,
          is_low: row !== undefined && isLow(row, warnBelowCents),
          orders_waiting: await countWaiting(systemDb(db), zones),
        };
      });
      return { balances: await Promise.all(balances) };
    },
  };
}

async function askWithin(
  parts: { readonly clock: Clock; readonly db: Database; readonly logger: Logger },
  registry: KnownRegistry,
  timeoutMs: number,
): Promise<void> {
  const ask = async () => {
    try {
      const balance = await registry.readBalance?.();
      if (balance !== undefined) await noteBalance(parts, registry, balance);
    } catch (error) {
      if (!(error instanceof RegistryUnavailable)) throw error;
      parts.logger.warn({ registry: registry.id, reason: error.message }, 'the registry does not tell its balance now');
    }
  };
  const answered = new AbortController();
  const tooLate = sleep(timeoutMs, answered.signal).catch(() => undefined);
  await Promise.race([ask().finally(() => answered.abort()), tooLate]);
}
