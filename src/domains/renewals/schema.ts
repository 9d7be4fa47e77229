/** The `renewal` object of a domain. */
import type { Static } from 'typebox';
import { component, nullable, oneOf, timestamp } from '../../kernel/http/schema.ts';
import { Type } from '../../kernel/http/type-builder.ts';

const renewalTerms = [
  'not_due',
  'off',
  'charging',
  'pending',
  'renewed',
  'unpaid',
  'failed',
  'lapsing',
  'capped',
] as const;

const TERMS = `Where the renewal of the current term stands:
- \`not_due\`: it will be charged at \`next_charge_at\`.
- \`off\`: auto-renew is off, or the name is to be released; nothing will be charged.
- \`charging\`: it is due and about to be charged, or it is charged and about to be sent to the registry.
- \`pending\`: it is paid for, and the registry has it.
- \`renewed\`: the next term is bought; this holds until the date on which the name would have expired.
- \`unpaid\`: the wallet is short by \`shortfall\`; it is charged within minutes after a top-up, until 10 days before expiry.
- \`failed\`: the registry refused or did not answer, see \`reason\`; nothing was charged, and it is tried again until 10 days before expiry.
- \`lapsing\`: it was not paid 10 days before expiry, so the name is left to expire. POST /domains/{name}/renew still renews it.
- \`capped\`: the name is paid for as far ahead as its registry allows, mostly ten years.`;

export const Renewal = component(
  'Renewal',
  Type.Object({
    auto_renew: Type.Boolean(),
    expires_at: nullable(timestamp(), { description: 'As the registry reported it last; null until it has.' }),
    billed_until: nullable(timestamp(), { description: 'The end of what has been paid for.' }),
    renewed_until: nullable(timestamp(), {
      description: 'When a renewal of the current term stands, the expiry that it leads to.',
    }),
    next_charge_at: nullable(timestamp(), {
      description:
        'When auto-renew charges next; a time in the past has been due since then. Null when nothing will be charged.',
    }),
    price: nullable(Type.Number(), {
      description:
        'What auto-renew charges, in EUR: the fewest years that the TLD renews for. Null where it is not offered any more.',
    }),
    term: oneOf(renewalTerms, { description: TERMS }),
    reason: nullable(Type.String(), { description: 'Why the term is in that state, where there is something to say.' }),
    shortfall: nullable(Type.Number(), { description: 'What the wallet lacks, in EUR.' }),
  }),
);

export type Renewal = Static<typeof Renewal>;
