/** Rate, load and availability. 429 is the caller's pace, 503 the platform's condition; each clears by itself. */
import type { ErrorTexts } from '../../kernel/http/errors.ts';

export const loadErrors = {
  rate_limit_exceeded: {
    status: 429,
    message: 'Too many requests. Wait for the number of seconds in `Retry-After`, then go on more slowly.',
  },
  concurrency_limit_exceeded: {
    status: 429,
    message:
      'The project has as many runs in flight as it may. Wait for one to end, or for the number of seconds in `Retry-After`, and start this one again.',
  },
  service_overloaded: {
    status: 503,
    message: 'The platform is shedding load. Wait for the number of seconds in `Retry-After` and repeat the request.',
  },
  storage_unavailable: {
    status: 503,
    message:
      'The database or the file store is not answering. Wait for the number of seconds in `Retry-After` and repeat the request.',
  },
  embedding_unavailable: {
    status: 503,
    message: 'The embedding model is not answering. Repeat the request shortly.',
  },
  broker_unavailable: {
    status: 503,
    message:
      'The service that holds the credentials of connected accounts is not answering. Repeat the request shortly.',
  },
  internal_error: {
    status: 500,
    message:
      'Something failed on our side. Repeat the request, and if it fails again, report it with the value of `X-Request-Id`.',
  },
} as const satisfies ErrorTexts;
