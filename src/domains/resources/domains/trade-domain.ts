import { type Deadline, READ_MS } from '../../deadline.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { buy, type OrderRow } from '../../orders/index.ts';
import { type DomainRow, ownDomain } from '../../portfolio/index.ts';
import { RegistryUnavailable } from '../../registry/registry.ts';
import { requireTradable } from '../../trades/index.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { DomainDependencies } from './dependencies.ts';
import type { TradeOrder } from './schema.ts';
import { agreePrice, answerSpending, instrumentOf } from './spend.ts';

type Request = WorkspaceTurn<{ params: { name: string }; body: TradeOrder }>;

export function tradeDomain(deps: DomainDependencies) {
  return async (request: Request) => answerSpending(deps, request, 200, (deadline) => trade(deps, request, deadline));
}

async function trade(deps: DomainDependencies, request: Request, deadline: Deadline): Promise<OrderRow> {
  const { body, caller, idempotency, params } = request;
  const { workspaceId } = caller;
  const db = workspaceDb(deps.db, workspaceId);
  const row = await asShownNow(deps, await ownDomain(db, params.name));
  const { lockDays, next, priceCents } = await requireTradable(deps, db, row);
  const price = await agreePrice(async () => ({ priceCents }), body);
  return buy(
    deps,
    {
      ...{ workspaceId, kind: 'trade', origin: 'request', name: row.name },
      ...{ years: 0, ...price },
      holder: { registrant: next, lockDays: body.transfer_lock === false ? 0 : lockDays },
      instrument: instrumentOf(body),
      claim: idempotency,
    },
    { deadline, term: { domainId: row.id } },
  );
}

/** While the registry does not answer, as it showed it last: the order asks again before anything is sent. */
async function asShownNow({ registry }: DomainDependencies, row: DomainRow): Promise<DomainRow> {
  try {
    const info = await registry.info(row.name, { timeoutMs: READ_MS });
    return info?.isOurs === true ? { ...row, snapshot: info } : row;
  } catch (error) {
    if (error instanceof RegistryUnavailable) return row;
    throw error;
  }
}
