/**
 * Budgets, usage and billing. 402 is invalid_request_error, not rate_limit_error: waiting and repeating does not help,
 * so no client should back off and retry.
 */
import type { ErrorTexts } from '../../kernel/http/errors.ts';

export const billingErrors = {
  budget_exceeded: {
    status: 402,
    message:
      'A budget with action `block` is spent. Raise its limit or change its action with `PATCH /v1/budgets/{bid}`, or wait for the next period.',
  },
  card_required: {
    status: 402,
    message:
      'The organization has no card on file, and the project cannot run before it has. Add one with `POST /v1/organization/billing/setup`.',
  },
  insufficient_credits: {
    status: 402,
    message:
      "The organization's wallet is empty. Top it up with `POST /v1/organization/billing/checkout`, or turn on automatic reload.",
  },
  budget_exists: {
    status: 409,
    message: 'There is already a budget for this scope and period. Change that one with `PATCH /v1/budgets/{bid}`.',
  },
  scope_id_required: {
    status: 422,
    message: 'A budget for an agent, a smith or a customer must say which one. Send its id in `scope_id`.',
  },
  invalid_action: {
    status: 422,
    message: "The budget's action is not known. Use `warn` or `block`.",
  },
  invalid_period: {
    status: 422,
    message:
      'The period is not known, or too long. A budget’s is `daily`, `weekly`, `monthly` or `total`; usage takes days, as this operation documents them.',
  },
  invalid_group_by: {
    status: 422,
    message: 'Usage cannot be grouped that way. Use one of the values that this operation documents for `group_by`.',
  },
  invalid_meter: {
    status: 422,
    message: "The meter's name is empty or malformed. Correct the name of the meter in the event.",
  },
  invalid_quantity: {
    status: 422,
    message: 'The quantity must be a finite number that is not negative. Correct the quantity in the event.',
  },
  invalid_amount: {
    status: 422,
    message: 'The amount is outside the accepted range. Send `amount_cents` as a whole number of cents within it.',
  },
  invalid_threshold: {
    status: 422,
    message:
      'The threshold is outside the accepted range. Send `threshold_cents` as a whole number of cents within it.',
  },
  invalid_code: {
    status: 422,
    message:
      'This code cannot be redeemed: it is not known or no longer valid. Check the spelling, or ask for another code.',
  },
  code_already_redeemed: {
    status: 409,
    message: 'This code has been redeemed. Check the ledger, or use another code.',
  },
  invalid_return_url: {
    status: 422,
    message: 'The return address must be an absolute `https` URL that this installation accepts. Correct `return_url`.',
  },
  no_customer: {
    status: 422,
    message:
      'The organization has no account with the payment service yet. Create it with `POST /v1/organization/billing/setup` first.',
  },
  no_saved_card: {
    status: 422,
    message: 'There is no saved card to charge. Add one with `POST /v1/organization/billing/setup` first.',
  },
  stripe_unconfigured: {
    status: 422,
    message: 'Card payments are not set up on this installation. Ask its operator to configure Stripe.',
  },
  stripe_error: {
    status: 502,
    message:
      'The payment service refused or failed the request. Check the ledger before you repeat it, so that nothing is paid twice.',
  },
  bad_webhook: {
    status: 422,
    message:
      'The event cannot be read. Check that the sender is configured for this endpoint and sends the event unchanged.',
  },
} as const satisfies ErrorTexts;
