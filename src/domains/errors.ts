/**
 * The domain service's error catalogue: every `error` a client may branch on, and its envelope
 * `{error: "<code>", details: {message, …}}`. The codes are the contract's (Domain Registration API, Errors), and five that
 * any HTTP service has: `payload_too_large`, `rate_limit_exceeded`, `service_overloaded`, `storage_unavailable` and `pending_operation`, for a
 * change that the registry cannot take before it has finished the last one; and `restore_failed`, for a call that the contract does not have.
 */
import { defineErrors, type ErrorDialect } from '../kernel/http/errors.ts';

export const domainErrors = defineErrors({
  missing_token: {
    status: 401,
    message: 'Send the token as `Authorization: Bearer <token>`. POST /accounts gives one.',
  },
  invalid_token: {
    status: 401,
    message: 'This token is not known. Check its value, or mint a new one.',
  },
  revoked_token: {
    status: 401,
    message: 'This token was revoked. Mint a new one.',
  },
  insufficient_scope: {
    status: 403,
    message: 'This call changes something and the token may only read. Use a token with the scope `write`.',
  },
  not_found: {
    status: 404,
    message: 'The workspace’s portfolio has no such domain. GET /domains lists what it has.',
  },
  bad_request: {
    status: 400,
    message: 'The request does not validate; `details` says where.',
  },
  already_in_portfolio: {
    status: 409,
    message: 'The workspace has this domain already. Manage it under /domains/{name}.',
  },
  price_changed: {
    status: 409,
    message:
      '`confirm_price` is not the live price. Repeat the call with `details.current_price` if that is acceptable.',
  },
  renewal_in_progress: {
    status: 409,
    message: 'This term is being bought already. Wait until it is done; a later renewal adds a further term.',
  },
  insufficient_balance: {
    status: 402,
    message:
      'The wallet does not cover the price. Top it up, or pass `payment_method` or `shared_payment_token`; `details` has both amounts in cents.',
  },
  payment_failed: {
    status: 422,
    // Where the card is declined.
    alsoStatus: 402,
    message: 'The payment failed; `details.kind` says why. Correct the instrument and repeat the call.',
  },
  email_taken: {
    status: 409,
    message:
      'An account has this e-mail address already. Sign in with POST /sign-ins, or sign up with another address.',
  },
  pending_at_registry: {
    status: 409,
    message: 'The registry does not report this domain yet. Look again later.',
  },
  no_hosted_zone: {
    status: 409,
    message: 'The domain’s nameservers are not ours, so its records are kept elsewhere.',
  },
  delete_failed: {
    status: 422,
    message: 'The registry refused to delete the domain.',
  },
  registration_failed: {
    status: 422,
    message: 'The registry refused the registration. Nothing was charged.',
  },
  renew_failed: {
    status: 422,
    message: 'The registry refused the renewal. Nothing was charged.',
  },
  transfer_failed: {
    status: 422,
    message: 'The registry refused the transfer. Nothing was charged.',
  },
  restore_failed: {
    status: 422,
    message: 'The domain cannot be restored, or the registry refused it. Nothing was charged.',
  },
  trade_failed: {
    status: 422,
    message: 'The domain cannot have that holder, or the registry refused it. Nothing was charged.',
  },
  internal: {
    status: 500,
    message: 'Something failed on our side or at the registry. Repeat the call with the same `Idempotency-Key`.',
  },
  idempotency_key_reused: {
    status: 409,
    message: 'This Idempotency-Key was used for another request. Use a new key.',
  },
  pending_operation: {
    status: 409,
    message:
      'The registry has an operation on this domain under way. Look at it again, and repeat the call when that is done.',
  },
  payload_too_large: {
    status: 413,
    message: 'The body is too large. Send less.',
  },
  rate_limit_exceeded: {
    status: 429,
    message: 'Too many requests in a minute. Repeat the call after the seconds in `Retry-After`.',
  },
  service_overloaded: {
    status: 503,
    message: 'The server has more to do than it can. Repeat the call after the seconds in `Retry-After`.',
  },
  storage_unavailable: {
    status: 503,
    message:
      'The database does not answer. Repeat the call after the seconds in `Retry-After`, with the same `Idempotency-Key`.',
  },
});

export const domainErrorDialect: ErrorDialect = {
  names: {
    invalid_request: 'bad_request',
    invalid_cursor: 'bad_request',
    invalid_limit: 'bad_request',
    unauthenticated: 'invalid_token',
    internal_error: 'internal',
  },
  render: ({ code, message, param, details }) => ({
    error: code,
    details: { message, ...(param === null ? {} : { param }), ...details },
  }),
  schema: {
    type: 'object',
    required: ['error', 'details'],
    properties: {
      error: { type: 'string', description: 'Stable; branch on it.' },
      details: {
        type: 'object',
        required: ['message'],
        properties: {
          message: { type: 'string', description: 'For people: what went wrong and what to do next. May change.' },
          param: { type: 'string', description: 'The member at fault, as a dotted path.' },
        },
        additionalProperties: true,
      },
    },
  },
};
