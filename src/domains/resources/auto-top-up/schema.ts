import type { Static } from 'typebox';
import { closedObject, component, nullable, oneOf, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

const amount = (description: string) => Type.Union([Type.Number(), Type.String({ maxLength: 20 })], { description });

export const AutoTopUpSettings = component(
  'AutoTopUpSettings',
  closedObject({
    enabled: Type.Boolean({ description: 'True wants a saved card, and the three amounts.' }),
    threshold: Type.Optional(amount('In EUR. Once less than this is available the card is charged.')),
    amount: Type.Optional(amount('In EUR: what is charged, at least the threshold.')),
    monthly_limit: Type.Optional(amount('In EUR: no more is charged in a calendar month (UTC); at least the amount.')),
  }),
);
export type AutoTopUpSettings = Static<typeof AutoTopUpSettings>;

export const AutoTopUp = component(
  'AutoTopUp',
  Type.Object({
    enabled: Type.Boolean(),
    threshold: nullable(Type.Number(), {
      description: 'In EUR. `wallet.low` is told below it, also where this is off.',
    }),
    amount: nullable(Type.Number(), { description: 'In EUR.' }),
    monthly_limit: nullable(Type.Number(), { description: 'In EUR.' }),
    charged_this_month: Type.Number({ description: 'In EUR, with what is being charged.' }),
    currency: oneOf(['EUR']),
    card: oneOf(['none', 'saved']),
    card_url: nullable(Type.String(), { description: 'Where a person saves a card, while that page is open.' }),
    failure: nullable(Type.Object({ kind: Type.String(), message: Type.String() }), {
      description: 'Why it was switched off: the card was declined, or a payment was disputed (`payment_disputed`).',
    }),
    updated_at: nullable(timestamp()),
  }),
);
export type AutoTopUp = Static<typeof AutoTopUp>;

export const CardPage = component(
  'CardPage',
  Type.Object({ url: Type.String({ description: 'A page of the payment provider, open for a day.' }) }),
);
export type CardPage = Static<typeof CardPage>;
