/** The organization's prepaid wallet. Amounts are whole cents. */
import type { Static } from 'typebox';
import { closedObject, component, failsWith, nullable, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

const MIN_AMOUNT_CENTS = 100;
const MAX_AMOUNT_CENTS = 1_000_000;

const amount = {
  minimum: MIN_AMOUNT_CENTS,
  maximum: MAX_AMOUNT_CENTS,
  description: `${MIN_AMOUNT_CENTS} to ${MAX_AMOUNT_CENTS}.`,
  ...failsWith('invalid_amount'),
};
const currency = Type.String({ description: 'Three lower-case letters: that of the installation.' });
const returnUrl = Type.String({
  minLength: 1,
  maxLength: 2_048,
  description:
    'Where the page leads back to: `https`, or `http` to this machine. A page that was used adds `session_id`, for `confirm`.',
  ...failsWith('invalid_return_url'),
});

export const BalanceOut = component(
  'BalanceOut',
  Type.Object({
    currency,
    balance_cents: Type.Integer({ description: 'Below zero where runs under way cost more than there was.' }),
    stripe_customer: Type.Boolean({ description: 'Whether the payment service knows the organization.' }),
  }),
);

export const LedgerEntry = component(
  'LedgerEntryOut',
  Type.Object({
    id: Type.String(),
    amount_cents: Type.Integer({ description: 'What was added to the balance; below zero: what left it.' }),
    currency,
    kind: Type.String({
      description: '`starter`, `topup`, `autoreload`, `redeem`, `usage`, `refund`, `dispute` or `adjustment`.',
    }),
    description: Type.String(),
    created_at: nullable(timestamp()),
  }),
);

const OrgUsageProject = component(
  'OrgUsageProject',
  Type.Object({
    project_id: Type.String(),
    name: Type.String(),
    drawn_cents: Type.Integer({ description: 'What its usage has drawn; those of all projects add up to the total.' }),
    tokens: Type.Integer(),
    budget_limit: nullable(Type.Number(), {
      description: 'Of the budget of the whole project, the monthly one before others; US dollars.',
    }),
    budget_action: nullable(Type.String()),
  }),
);

export const OrgUsageOut = component(
  'OrgUsageOut',
  Type.Object({
    period: Type.String({ description: 'A month in UTC: `2026-05`.' }),
    currency,
    total_drawn_cents: Type.Integer(),
    total_tokens: Type.Integer(),
    projects: Type.Array(OrgUsageProject),
  }),
);

export const UsageQuery = Type.Object({
  period: Type.Optional(
    Type.String({
      pattern: '^2\\d{3}-(?:0[1-9]|1[0-2])$',
      description: 'A month: `2026-05`. Left out: the current one, in UTC.',
      ...failsWith('invalid_period'),
    }),
  ),
});

const day = (what: string) =>
  Type.Optional(
    Type.String({
      format: 'date',
      pattern: '^2\\d{3}-\\d{2}-\\d{2}$',
      description: what,
      ...failsWith('invalid_period'),
    }),
  );

export const SeriesQuery = Type.Object({
  from: day('The first day, in UTC. Left out: 30 days up to `to`.'),
  to: day('The last day. Left out: 30 days from `from`, or today.'),
});

export const OrgUsageSeriesOut = component(
  'OrgUsageSeriesOut',
  Type.Object({
    currency,
    from: Type.String(),
    to: Type.String(),
    projects: Type.Array(Type.Object({ project_id: Type.String(), name: Type.String() })),
    points: Type.Array(Type.Object({ day: Type.String(), project_id: Type.String(), drawn_cents: Type.Integer() }), {
      description: 'By day and project; a day on which a project has cost nothing has none.',
    }),
  }),
);

export const SetupIn = component('SetupIn', closedObject({ return_url: returnUrl }));
export const SetupOut = component('SetupOut', Type.Object({ url: Type.String() }));

export const CheckoutIn = component(
  'CheckoutIn',
  closedObject({ amount_cents: Type.Integer(amount), return_url: returnUrl }),
);
export const CheckoutOut = component('CheckoutOut', Type.Object({ url: Type.String() }));

export const ConfirmIn = component(
  'ConfirmIn',
  closedObject({ session_id: Type.String({ minLength: 1, maxLength: 255 }) }),
);
export const ConfirmOut = component(
  'ConfirmOut',
  Type.Object({
    credited: Type.Boolean({
      description: 'Whether the money is in the wallet, by this call or before; of a setup, the starter credit.',
    }),
    payment_status: Type.String({
      description: '`paid`, `unpaid`, `no_payment_required` (a setup), `expired` or `failed`.',
    }),
  }),
);

export const RedeemIn = component(
  'RedeemIn',
  closedObject({ code: Type.String({ minLength: 1, maxLength: 100, ...failsWith('invalid_code') }) }),
);
export const RedeemOut = component('RedeemOut', Type.Object({ amount_cents: Type.Integer(), currency }));

export const AutoreloadIn = component(
  'AutoreloadIn',
  closedObject({
    enabled: Type.Boolean(),
    threshold_cents: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_AMOUNT_CENTS,
        description: `At this balance or below it the card is charged: 0 to ${MAX_AMOUNT_CENTS}. Left out: as it was.`,
        ...failsWith('invalid_threshold'),
      }),
    ),
    amount_cents: Type.Optional(
      Type.Integer({ ...amount, description: `What is charged: ${amount.description} Left out: as it was.` }),
    ),
  }),
);
export const AutoreloadOut = component(
  'AutoreloadOut',
  Type.Object({
    enabled: Type.Boolean(),
    threshold_cents: Type.Integer(),
    amount_cents: Type.Integer(),
    paused_until: nullable(timestamp(), {
      description: 'After a decline: when the card is charged again. Saving a card or setting this anew ends the wait.',
    }),
    last_failure: nullable(Type.String(), { description: 'Why the last charge was declined.' }),
  }),
);

export const ReloadIn = component(
  'ReloadIn',
  closedObject({
    amount_cents: Type.Optional(
      nullable(Type.Integer(amount), {
        description: `${amount.description} Left out or null: what the automatic reload charges.`,
      }),
    ),
  }),
);
export const ReloadOut = component(
  'ReloadOut',
  Type.Object({
    credited: Type.Boolean(),
    payment_status: Type.String({
      description:
        '`paid`, `declined`, or `processing`: the payment service has not answered yet, and the wallet is credited once it has.',
    }),
  }),
);

export const PortalOut = component('PortalOut', Type.Object({ url: Type.String() }));
export const StripeWebhookAck = component('StripeWebhookAck', Type.Object({ received: Type.Literal(true) }));

export type BalanceOut = Static<typeof BalanceOut>;
export type LedgerEntry = Static<typeof LedgerEntry>;
export type OrgUsageOut = Static<typeof OrgUsageOut>;
export type OrgUsageSeriesOut = Static<typeof OrgUsageSeriesOut>;
export type SetupIn = Static<typeof SetupIn>;
export type CheckoutIn = Static<typeof CheckoutIn>;
export type ConfirmIn = Static<typeof ConfirmIn>;
export type ConfirmOut = Static<typeof ConfirmOut>;
export type RedeemIn = Static<typeof RedeemIn>;
export type RedeemOut = Static<typeof RedeemOut>;
export type AutoreloadIn = Static<typeof AutoreloadIn>;
export type AutoreloadOut = Static<typeof AutoreloadOut>;
export type ReloadIn = Static<typeof ReloadIn>;
export type ReloadOut = Static<typeof ReloadOut>;
