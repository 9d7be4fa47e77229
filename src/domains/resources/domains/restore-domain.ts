import { type Deadline, READ_MS } from '../../deadline.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { buy, type OrderRow } from '../../orders/index.ts';
import { type DomainRow, ownDomain } from '../../portfolio/index.ts';
import { type RegistryDomain, RegistryUnavailable } from '../../registry/registry.ts';
import { missingYears, quoteRestoration, requireRestorable } from '../../restorations/index.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { DomainDependencies } from './dependencies.ts';
import type { RestorationOrder } from './schema.ts';
import { agreePrice, answerSpending, instrumentOf } from './spend.ts';

type Request = WorkspaceTurn<{ params: { name: string }; body: RestorationOrder }>;

export function restoreDomain(deps: DomainDependencies) {
  return async (request: Request) => answerSpending(deps, request, 200, (deadline) => restore(deps, request, deadline));
}

async function restore(deps: DomainDependencies, request: Request, deadline: Deadline): Promise<OrderRow> {
  const { body, caller, idempotency, params } = request;
  const { workspaceId } = caller;
  const row = await ownDomain(workspaceDb(deps.db, workspaceId), params.name);
  const info = await readDeleted(deps, row);
  const price = await agreePrice(() => quoteRestoration(deps, info), body);
  return buy(
    deps,
    {
      ...{ workspaceId, kind: 'restoration', origin: 'request', name: row.name },
      // Not known before the price is.
      ...{ years: missingYears(info, deps.clock.now()) ?? 0, ...price },
      instrument: instrumentOf(body),
      claim: idempotency,
    },
    { deadline, term: { domainId: row.id } },
  );
}

/** What the registry says now, or while it does not answer said last. Throws `restore_failed` for what cannot be restored. */
async function readDeleted({ registry }: DomainDependencies, row: DomainRow): Promise<RegistryDomain> {
  try {
    return requireRestorable(row.name, await registry.info(row.name, { timeoutMs: READ_MS }));
  } catch (error) {
    if (!(error instanceof RegistryUnavailable)) throw error;
    // It was shown before the registry took its deletion: the order finds out what it is by now.
    if (row.snapshot !== null && row.deletion_sent_at !== null) return row.snapshot;
    return requireRestorable(row.name, row.snapshot ?? undefined);
  }
}
