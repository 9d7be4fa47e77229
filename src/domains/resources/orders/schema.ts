import type { Static } from 'typebox';
import { closedObject, component, nullable, oneOf, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { nextAfter } from '../../list-page.ts';
import { LAUNCH_PHASES } from '../../registry/registry.ts';
import { acceptedClaimsNotice } from '../claims-notices/index.ts';

export const OrderPath = Type.Object({ order_id: Type.String({ minLength: 1, maxLength: 100 }) });

const STATUSES = `How far it is:
- \`Paying\`: the card is being charged.
- \`Pending\`: it is paid, and the registry does it; a transfer takes days.
- \`NoticeRequired\`: a trademark claims the domain, as the registry said only after the order was placed. Its price is held until
  \`notice_required.until\`, and then goes back; POST /orders/{order_id}/accept-notice has the order go on.
- \`Completed\`
- \`Failed\`: nothing was bought, and the money went back where it came from. \`failure\` says why.`;

export const Order = component(
  'Order',
  Type.Object({
    id: Type.String(),
    kind: oneOf(['registration', 'renewal', 'transfer', 'restoration', 'trade']),
    origin: oneOf(['request', 'auto_renew'], { description: 'Who asked for it: a call, or auto-renew.' }),
    domain: Type.String({ description: 'In punycode, lower case.' }),
    duration: Type.Integer({ description: 'Years.' }),
    price: Type.Number({ description: 'In EUR.' }),
    currency: oneOf(['EUR']),
    paid_with: oneOf(['wallet', 'card']),
    status: oneOf(['Paying', 'Pending', 'NoticeRequired', 'Completed', 'Failed'], { description: STATUSES }),
    failure: nullable(
      Type.Object({
        error: Type.String({ description: 'The code that the spending call answers with.' }),
        message: Type.String({ description: 'For people. May change.' }),
      }),
    ),
    holder: Type.Optional(
      Type.Object(
        { name: Type.String(), organization: nullable(Type.String()) },
        { description: 'Of a trade: who is to hold the domain.' },
      ),
    ),
    application_id: Type.Optional(
      Type.String({
        description: 'Of an application in a launch, as the registry calls it; absent: it is none, or has no id yet.',
      }),
    ),
    application: Type.Optional(
      Type.Object(
        {
          phase: oneOf(LAUNCH_PHASES),
          name: Type.Optional(Type.String({ description: 'Of a custom phase, or a part of another one.' })),
          price: Type.Number({ description: 'What of `price` is for the application, in EUR.' }),
          refunded_when_lost: Type.Boolean({
            description: 'Whether `price` comes back where another has the domain. The rest always does.',
          }),
          taken_at: nullable(timestamp(), {
            description:
              'When its price was spent, as the registry had taken it; null: it was not, or comes back when lost.',
          }),
        },
        {
          description:
            'Of a domain that is applied for, while its TLD is being launched; absent: it is registered at once.',
        },
      ),
    ),
    claims_notice: Type.Optional(
      Type.Object(
        {
          id: Type.String(),
          accepted_at: timestamp({ description: 'As the call said it.' }),
          recorded_at: timestamp({ description: 'When the call came.' }),
          token_id: Type.String({ description: 'The token that it was made with.' }),
        },
        { description: 'The notice of a trademark claim that was accepted; absent: there was none.' },
      ),
    ),
    notice_required: Type.Optional(
      Type.Object(
        {
          notice: Type.String({ description: 'The path of the notice.' }),
          until: timestamp({ description: 'It is waited for so long.' }),
        },
        { description: 'Of an order that waits until a notice is accepted; absent: it does not.' },
      ),
    ),
    created_at: timestamp(),
    ended_at: nullable(timestamp()),
  }),
);
export type Order = Static<typeof Order>;

export const OrderList = Type.Object({ orders: Type.Array(Order), next_after: nextAfter });
export type OrderList = Static<typeof OrderList>;

export const AcceptedNotice = closedObject({ claims_notice: acceptedClaimsNotice('The notice that was accepted.') });
export type AcceptedNotice = Static<typeof AcceptedNotice>;
