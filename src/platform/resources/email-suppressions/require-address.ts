import { ApiError } from '../../../kernel/http/errors.ts';
import { readAddress } from '../../channels/index.ts';

/** In lower case. Throws `invalid_address`. */
export function requireAddress(given: string): string {
  const address = readAddress(given);
  if (address !== undefined) return address;
  const message = '`address` is no mail address. Write one such as ada@example.com.';
  throw new ApiError('invalid_address', { param: 'address', message });
}
