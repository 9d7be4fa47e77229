/** What names cost under each TLD, and the terms that they are sold at. */
import type { Static } from 'typebox';
import { component, oneOf } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { LaunchOfTld } from '../launch-of-tld.ts';

function euros(description: string) {
  return Type.Number({ minimum: 0, description });
}

function years(description: string) {
  return Type.Integer({ minimum: 1, maximum: 10, description });
}

export const TldPrice = component(
  'TldPrice',
  Type.Object({
    tld: Type.String({ description: 'Without a dot in front: `com`, `co.uk`.' }),
    register: euros('A year of registration.'),
    renew: euros('A year of renewal.'),
    transfer: euros('A transfer in, with the years that it adds.'),
    trade: euros('A change of the owner.'),
    min_years: years('The least `duration` of a registration.'),
    max_years: years('The greatest `duration` of a registration.'),
    renew_min_years: years('The least `duration` of a renewal: what auto-renew buys.'),
    renew_max_years: years('The greatest `duration` of a renewal.'),
    transfer_years: years('What a transfer in adds to the term.'),
    max_term_years: years('How far ahead a name can be paid for.'),
    deletes: oneOf(['at_once', 'at_expiry'], {
      description: 'What deleting a name does: away now, or released at the end of the term that is paid for.',
    }),
    grace_days: Type.Integer({
      description: 'Days after its expiry in which a name is renewed at the ordinary price.',
    }),
    redemption_days: Type.Integer({ description: 'Days after its deletion in which a name can be restored.' }),
    launch: Type.Optional(LaunchOfTld),
    application: Type.Optional(
      euros('Beyond the contract: what an application costs once, beside `register`; absent: nothing.'),
    ),
  }),
);

export const TldPriceList = component(
  'TldPriceList',
  Type.Object({ currency: oneOf(['EUR']), tlds: Type.Array(TldPrice) }),
);

export type TldPrice = Static<typeof TldPrice>;
export type TldPriceList = Static<typeof TldPriceList>;
