/** Idempotency. Both are conflicts with a stored request. Only the first clears by waiting. */
import type { ErrorTexts } from '../../kernel/http/errors.ts';

export const idempotencyErrors = {
  idempotency_in_progress: {
    status: 409,
    message:
      'The first request with this `Idempotency-Key` is still being carried out. Wait a moment and repeat the same request with the same key.',
  },
  idempotency_key_reused: {
    status: 409,
    message:
      'This `Idempotency-Key` was used for a different request. Use a new key for each new request, and repeat a key only with an identical one.',
  },
} as const satisfies ErrorTexts;
