/** What an operator is told of the accounts at registries. */
import type { Database } from '../../kernel/db/database.ts';
import type { VerbHandlers } from '../../kernel/operator/index.ts';
import { countWaiting, isLow, listBalances } from '../balances/index.ts';
import type { RegistryMember } from '../registry/registry.ts';
import { systemDb } from '../workspace-scope.ts';
import type { DomainVerbs } from './verbs.ts';

/** What the configuration says of a registry. */
export type KnownRegistry = Pick<RegistryMember, 'id' | 'warnBelowCents' | 'zones'>;

export interface BalanceVerbDependencies {
  readonly db: Database;
  readonly registries?: readonly KnownRegistry[] | undefined;
}

export function createBalanceVerbs({
  db,
  registries = [],
}: BalanceVerbDependencies): Pick<VerbHandlers<DomainVerbs>, 'registry_balances'> {
  return {
    async registry_balances() {
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
