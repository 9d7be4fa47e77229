import type { Static } from 'typebox';
import { component, nullable, oneOf, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { nextAfter } from '../../list-page.ts';

export const WalletBalance = component(
  'WalletBalance',
  Type.Object({
    available_cents: Type.Integer({
      description:
        'What can be spent. Below zero where a disputed payment took more than there was: nothing can be bought then.',
    }),
    held_cents: Type.Integer({ description: 'Set aside for orders under way.' }),
    currency: oneOf(['EUR']),
  }),
);
export type WalletBalance = Static<typeof WalletBalance>;

const KINDS = `What happened:
- \`credit\`: money came in.
- \`hold\`: money was set aside for an order.
- \`charge\`: a card was charged for an order, and the money set aside.
- \`application\`: the registry has taken an application, and what that costs is spent; the rest stays set aside.
- \`capture\`: the order is done, and what was set aside is spent.
- \`release\`: the order failed, and what was set aside is available again.
- \`refund\`: the order failed, and what was set aside goes back to the card.
- \`grace_refund\`: the registry took the domain of the description back for nothing, and what it cost is available again, less a fee.
- \`grace_return\`: the registry had not taken it back after all, and that is paid again.
- \`dispute\`: a card’s holder had the bank take a payment back, and it has left the wallet.
- \`dispute_won\`: the dispute was decided for the payment, and it is available again.
- \`void\`: the play credit that was left ended, as names are real from then on.`;

export const movementKinds = [
  'credit',
  'hold',
  'charge',
  'application',
  'capture',
  'release',
  'refund',
  'grace_refund',
  'grace_return',
  'dispute',
  'dispute_won',
  'void',
] as const;

export const WalletMovement = component(
  'WalletMovement',
  Type.Object({
    id: Type.String({ description: 'Stays the same for ever.' }),
    kind: oneOf(movementKinds, { description: KINDS }),
    available_change_cents: Type.Integer({
      description: 'What it added to the available money; negative: took from it.',
    }),
    held_change_cents: Type.Integer({ description: 'What it added to the money set aside; negative: took from it.' }),
    order_id: nullable(Type.String(), { description: 'The order that it is of.' }),
    payment_id: nullable(Type.String(), { description: 'The payment that it is of.' }),
    description: Type.String(),
    created_at: timestamp(),
  }),
);
export type WalletMovement = Static<typeof WalletMovement>;

export const WalletLedger = Type.Object({ movements: Type.Array(WalletMovement), next_after: nextAfter });
export type WalletLedger = Static<typeof WalletLedger>;
