import { HttpReply } from '../../../kernel/http/operation.ts';
import { type ClaimsDependencies, showNotice } from '../../claims/index.ts';
import { normalizeName } from '../../names/normalize-name.ts';
import type { WorkspaceRead } from '../../operation.ts';
import type { PriceBook } from '../../prices/price-book.ts';
import type { ClaimsNotice } from './schema.ts';

export function getClaimsNotice(deps: ClaimsDependencies & { readonly prices: PriceBook }) {
  return async ({ caller, params }: WorkspaceRead<{ params: { name: string } }>) => {
    const { ascii, tld } = normalizeName(params.name, 'name');
    // Throws where the TLD is not sold.
    deps.prices.get(tld, deps.clock.now());
    const row = await showNotice(deps, caller.workspaceId, ascii);
    const notice: ClaimsNotice = {
      id: row.notice_id,
      domain: ascii,
      expires_at: row.not_after.toISOString(),
      claims: row.claims.map(({ holders, contacts, classes, decisions, ...claim }) => ({
        ...claim,
        holders: holders.map((holder) => ({ ...holder, street: [...holder.street] })),
        contacts: contacts.map((contact) => ({ ...contact, street: [...contact.street] })),
        classes: [...classes],
        decisions: [...decisions],
      })),
    };
    return new HttpReply(200, notice, { 'cache-control': 'private, no-store' });
  };
}
