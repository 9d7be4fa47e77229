import { ApiError } from '../../../kernel/http/errors.ts';

/** A record that cannot be: which member of the request is at fault, and what to send instead. */
export function badRecord(param: string, message: string): ApiError {
  return new ApiError('bad_request', { param, message });
}
