import { ApiError } from '../../../kernel/http/errors.ts';
import type { ExpiresAfter } from './schema.ts';

export const DAY_SECONDS = 86_400;

/** The seconds of inactivity after which a store ends; null: it stays. Throws `invalid_request`. */
export function readExpiry(expiry: ExpiresAfter | null | undefined): number | null {
  if (expiry === null || expiry === undefined) return null;
  const { days, seconds } = expiry;
  if ((days === undefined) === (seconds === undefined)) {
    throw new ApiError('invalid_request', {
      param: 'expires_after.days',
      message: '`expires_after` needs one of `days` and `seconds`.',
    });
  }
  return seconds ?? (days ?? 0) * DAY_SECONDS;
}
