import { ApiError } from '../../../kernel/http/errors.ts';
import { type Deadline, READ_MS } from '../../deadline.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { buy, type OrderRow } from '../../orders/index.ts';
import { type DomainRow, ownDomain } from '../../portfolio/index.ts';
import { type RegistryDomain, RegistryUnavailable } from '../../registry/registry.ts';
import { quoteRestoration } from '../../restorations/index.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { DomainDependencies } from './dependencies.ts';
import type { RestorationOrder } from './schema.ts';
import { answerSpending, confirmPrice, instrumentOf } from './spend.ts';

type Request = WorkspaceTurn<{ params: { name: string }; body: RestorationOrder }>;

export function restoreDomain(deps: DomainDependencies) {
  return async (request: Request) => answerSpending(deps, request, 200, (deadline) => restore(deps, request, deadline));
}

async function restore(deps: DomainDependencies, request: Request, deadline: Deadline): Promise<OrderRow> {
  const { body, caller, idempotency, params } = request;
  const { workspaceId } = caller;
  const row = await ownDomain(workspaceDb(deps.db, workspaceId), params.name);
  const info = await readDeleted(deps, row);
  const { fee, priceCents, years } = await quoteRestoration(deps, info);
  confirmPrice(priceCents, body);
  return buy(
    deps,
    {
      ...{ workspaceId, kind: 'restoration', origin: 'request', name: row.name, years, priceCents, fee },
      instrument: instrumentOf(body),
      claim: idempotency,
    },
    { deadline, term: { domainId: row.id } },
  );
}

/** What the registry says now, or while it does not answer said last. Throws `restore_failed` for what cannot be restored. */
async function readDeleted({ registry }: DomainDependencies, row: DomainRow): Promise<RegistryDomain> {
  let info: RegistryDomain | undefined;
  try {
    info = await registry.info(row.name, { timeoutMs: READ_MS });
  } catch (error) {
    if (!(error instanceof RegistryUnavailable)) throw error;
    info = row.snapshot ?? undefined;
  }
  const statuses = info?.isOurs === true ? info.statuses : [];
  if (info !== undefined && (statuses.includes('redemptionPeriod') || statuses.includes('pendingRestore'))) return info;
  throw new ApiError('restore_failed', {
    message: statuses.includes('pendingDelete')
      ? `The redemption period of ${row.name} is over: it is about to be free for anyone. Nothing was charged.`
      : `${row.name} is not deleted, so there is nothing to restore. Nothing was charged.`,
    details: { statuses },
  });
}
