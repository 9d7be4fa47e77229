/** What an app of a smith's own is told when it is made or changed. */
import { ApiError } from '../../../../kernel/http/errors.ts';
import { readAddress } from '../../email/address.ts';
import { MAX_APP_NAME_CHARS } from './manifest.ts';

interface Refusal {
  readonly code: 'invalid_setup' | 'invalid_request';
  /** Where the members stand in the request, with a dot behind it. */
  readonly at: string;
}

export function readAppName(name: unknown, { code, at }: Refusal): string {
  const isName = typeof name === 'string' && name.trim() !== '' && !/\p{Cc}/u.test(name);
  if (isName && name.trim().length <= MAX_APP_NAME_CHARS) return name.trim();
  const message = `The name of a Slack app is one line of 1 to ${MAX_APP_NAME_CHARS} characters.`;
  throw new ApiError(code, { param: `${at}display_name`, message });
}

export function readOwnerEmail(email: unknown, { code, at }: Refusal): string {
  const address = typeof email === 'string' ? readAddress(email) : undefined;
  if (address !== undefined) return address;
  const message = '`owner_email` is no mail address. Write one such as ada@example.com.';
  throw new ApiError(code, { param: `${at}owner_email`, message });
}
