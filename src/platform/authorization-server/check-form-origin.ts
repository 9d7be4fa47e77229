/** The form of the consent page is sent by that page alone: never by one of another site, in whose place a person would approve. */
import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../../kernel/http/errors.ts';

/** Throws `invalid_request` with 403. Programs that are no browser say nothing of where they are, and have no person to trick. */
export function checkFormOrigin(publicUrl: string, headers: IncomingHttpHeaders): void {
  const { origin } = headers;
  const site = headers['sec-fetch-site'];
  const isOwn = origin === undefined ? site === undefined : origin === new URL(publicUrl).origin;
  if (isOwn && (site === undefined || site === 'same-origin')) return;
  throw new ApiError('invalid_request', {
    status: 403,
    param: 'Origin',
    message: 'The form was sent from another site. Start again from the program that wants to connect.',
  });
}
