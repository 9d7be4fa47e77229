/** Refusals of requests whose turns have begun. */
import { ApiError, DO_NOT_RETRY } from '../../../kernel/http/errors.ts';
import { refusalFor } from '../../../kernel/http/storage-faults.ts';

/**
 * The refusal of a request whose turn has begun and cannot be answered. It says that it is not to be repeated, for that would
 * be another turn, whose tools run once more. With an `Idempotency-Key` (`isKeyed`) the repetition gets the answer of this turn: then
 * it may be, as it may where the thrower says so.
 */
export function refuseBegun(error: unknown, { isKeyed }: { readonly isKeyed: boolean }): ApiError {
  const refusal = refusalFor(error);
  if (isKeyed) return refusal;
  return new ApiError(refusal.code, { ...refusal.detail, headers: { ...DO_NOT_RETRY, ...refusal.detail.headers } });
}
