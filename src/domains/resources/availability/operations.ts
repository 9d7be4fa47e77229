import { HttpReply } from '../../../kernel/http/operation.ts';
import { BASE_PATH, open } from '../../operation.ts';
import type { PriceBook } from '../../prices/price-book.ts';
import type { NoticeService } from '../../registry/claims-notices.ts';
import { checkAvailability } from './check-availability.ts';
import { createNameLookUp, type LookUpDependencies } from './look-up-names.ts';
import { AvailabilityQuery, AvailabilityReport } from './schema.ts';

interface AvailabilityOperationDependencies extends LookUpDependencies {
  readonly prices: PriceBook;
  readonly noticeService?: NoticeService | undefined;
}

export function availabilityOperations(deps: AvailabilityOperationDependencies) {
  const { clock, noticeService, prices } = deps;
  const lookUp = createNameLookUp(deps);
  return [
    open.read({
      id: 'availability.check',
      method: 'GET',
      path: `${BASE_PATH}/check`,
      posture: 'public',
      summary: 'Check whether a name can be registered, and what it costs',
      description:
        'A domain is looked up as it is; a name without a TLD under several. `available` is null where the registry gave ' +
        'no answer in time. Availability is no reservation: a spending call asks the registry again.',
      query: AvailabilityQuery,
      reply: AvailabilityReport,
      handler: async ({ query }) =>
        new HttpReply(
          200,
          await checkAvailability({ clock, lookUp, prices, showsNotices: noticeService !== undefined }, query.q),
          {
            'cache-control': 'no-store',
          },
        ),
    }),
  ];
}
