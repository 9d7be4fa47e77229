import { normalizeName } from '../../names/normalize-name.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { buy } from '../../orders/index.ts';
import { getTldTerms, priceCents } from '../../prices/price.ts';
import type { DomainDependencies } from './dependencies.ts';
import type { TransferOrder } from './schema.ts';
import { answerSpending, confirmPrice, instrumentOf } from './spend.ts';

export function transferDomain(deps: DomainDependencies) {
  return async (request: WorkspaceTurn<{ params: { name: string }; body: TransferOrder }>) =>
    answerSpending(deps, request, 201, async (deadline) => {
      const { body, caller, idempotency, params } = request;
      const { ascii: name, tld } = normalizeName(params.name, 'name');
      const { transferYears: years } = getTldTerms(tld);
      const price = priceCents(tld, 'transfer', years);
      confirmPrice(price, body);
      const purchase = {
        workspaceId: caller.workspaceId,
        kind: 'transfer',
        origin: 'request',
        name,
        years,
        priceCents: price,
        instrument: instrumentOf(body),
        authCode: body.auth_code,
        claim: idempotency,
      } as const;
      return buy(deps, purchase, { deadline });
    });
}
