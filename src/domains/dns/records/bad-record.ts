import { ApiError } from '../../../kernel/http/errors.ts';

/** A record that cannot be: which member of the request is at fault, and what to send instead. */
export function badRecord(param: string, message: string): ApiError {
  return new ApiError('bad_request', { param, message });
}

const LONGEST_SHOWN = 80;

/** What the caller sent, for a message about it. */
export function shorten(text: string): string {
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}
