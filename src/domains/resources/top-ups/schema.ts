import type { Static } from 'typebox';
import { closedObject, component, nullable, oneOf, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { nextAfter } from '../../list-page.ts';

export const TopUpPath = Type.Object({ top_up_id: Type.String({ minLength: 1, maxLength: 100 }) });

export const TopUpCreate = component(
  'TopUpCreate',
  closedObject({
    amount: Type.Union([Type.Number(), Type.String({ maxLength: 20 })], {
      description: 'In EUR: a number or a decimal string with at most two decimals, from 1.00 to 10000.00.',
    }),
  }),
);
export type TopUpCreate = Static<typeof TopUpCreate>;

const STATES = `\`open\`: not paid yet, or paid less than about a minute ago. \`succeeded\`: the wallet has the money. \`expired\`: it was
not paid within a day, and cannot be paid any more.`;

export const TopUp = component(
  'TopUp',
  Type.Object({
    id: Type.String({ description: 'Of the payment: `payment_id` in the ledger.' }),
    amount: Type.Number({ description: 'In EUR.' }),
    currency: oneOf(['EUR']),
    url: nullable(Type.String(), { description: 'Where a person pays it; null once it is not open any more.' }),
    state: oneOf(['open', 'succeeded', 'expired'], { description: STATES }),
    created_at: timestamp(),
  }),
);
export type TopUp = Static<typeof TopUp>;

export const TopUpList = Type.Object({ top_ups: Type.Array(TopUp), next_after: nextAfter });
export type TopUpList = Static<typeof TopUpList>;
