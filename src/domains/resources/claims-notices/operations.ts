import type { ClaimsDependencies } from '../../claims/index.ts';
import { BASE_PATH, workspace } from '../../operation.ts';
import type { PriceBook } from '../../prices/price-book.ts';
import { getClaimsNotice } from './get-claims-notice.ts';
import { ClaimsNotice, ClaimsNoticePath } from './schema.ts';

export function claimsNoticeOperations(deps: ClaimsDependencies & { readonly prices: PriceBook }) {
  return [
    workspace.read({
      id: 'claims_notices.get',
      method: 'GET',
      path: `${BASE_PATH}/claims-notices/{name}`,
      posture: 'workspace',
      scope: 'read',
      summary: 'Get the notice of the trademarks that claim a name',
      description:
        'Of a name whose GET /check says `requires: claims_notice`. Show all of it to whoever registers the name; once they have accepted it, ' +
        'send its id, and when they accepted it, with POST /domains as `claims_notice`.',
      params: ClaimsNoticePath,
      reply: ClaimsNotice,
      errors: ['registration_failed'],
      handler: getClaimsNotice(deps),
    }),
  ];
}
