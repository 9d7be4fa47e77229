/** What an error at the start of a turn means for what waits to begin it. */
import { ApiError, type ErrorCatalogue } from '../../kernel/http/errors.ts';
import { platformErrors } from '../errors.ts';

export type StartFailure =
  /** The smith has a turn in progress. */
  | { readonly kind: 'busy' }
  /** The project has as many runs in flight here as it may, or this replica takes no more. */
  | { readonly kind: 'full' }
  /** Nothing that what waits is to blame for. */
  | { readonly kind: 'failed'; readonly isUnavailable: boolean }
  /** No turn will begin. */
  | { readonly kind: 'refused'; readonly error: { readonly code: string; readonly message: string } };

export function judgeFailure(error: unknown): StartFailure {
  if (!(error instanceof ApiError)) return { kind: 'failed', isUnavailable: false };
  const { code } = error;
  if (code === 'conversation_locked') return { kind: 'busy' };
  if (code === 'concurrency_limit_exceeded' || code === 'service_overloaded') return { kind: 'full' };
  const { status, message } = (platformErrors as ErrorCatalogue)[code] ?? platformErrors.internal_error;
  if (status >= 500) return { kind: 'failed', isUnavailable: status === 503 };
  return { kind: 'refused', error: { code, message: error.detail.message ?? message } };
}
