import { ApiError } from '../../../kernel/http/errors.ts';

/** Characters, not bytes. */
export const MAX_THREAD_ID_CHARS = 256;

/** Control characters, line and paragraph separators, and halves of surrogate pairs. */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\p{Cs}]/u;

/** Thread ids are the caller's: any printable text. Throws `invalid_request` for anything else. */
export function checkThreadId(id: string): void {
  const unprintable = UNPRINTABLE.exec(id)?.[0].codePointAt(0);
  if (unprintable !== undefined) {
    const code = unprintable.toString(16).toUpperCase().padStart(4, '0');
    throw refusal(`must be printable text, but holds the control character U+${code}`);
  }
  const { length } = [...id];
  if (length === 0 || length > MAX_THREAD_ID_CHARS) throw refusal(`must have 1 to ${MAX_THREAD_ID_CHARS} characters`);
}

function refusal(problem: string): ApiError {
  return new ApiError('invalid_request', { param: 'thread_id', message: `\`thread_id\` ${problem}.` });
}
