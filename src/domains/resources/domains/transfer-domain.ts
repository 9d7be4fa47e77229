import { normalizeName } from '../../names/normalize-name.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { buy } from '../../orders/index.ts';
import { quote } from '../../prices/quote.ts';
import { requirePlain } from '../accounts/index.ts';
import type { DomainDependencies } from './dependencies.ts';
import type { TransferOrder } from './schema.ts';
import { agreePrice, answerSpending, instrumentOf } from './spend.ts';

export function transferDomain(deps: DomainDependencies) {
  return async (request: WorkspaceTurn<{ params: { name: string }; body: TransferOrder }>) =>
    answerSpending(deps, request, 201, async (deadline) => {
      const { body, caller, idempotency, params } = request;
      const { ascii: name, tld } = normalizeName(params.name, 'name');
      requirePlain({ auth_code: body.auth_code });
      const { transferYears: years } = deps.prices.get(tld, deps.clock.now());
      const price = await agreePrice(() => quote(deps, { name, tld, operation: 'transfer', years }), body);
      const purchase = {
        workspaceId: caller.workspaceId,
        kind: 'transfer',
        origin: 'request',
        name,
        ...price,
        years,
        instrument: instrumentOf(body),
        authCode: body.auth_code,
        claim: idempotency,
      } as const;
      return buy(deps, purchase, { deadline });
    });
}
