/** `X-Twilio-Signature`: an HMAC of the public address that Twilio called, with its query, and of the form that it sent there. */
import { parse } from 'node:querystring';
import { validateRequest } from 'twilio/lib/webhooks/webhooks.js';
import { ApiError } from '../../../kernel/http/errors.ts';

export const TWILIO_SIGNATURE_HEADER = 'x-twilio-signature';

/** More fields than any call of Twilio's has. */
const MAX_FIELDS = 1_000;

/** Fields that were sent twice have several values. */
export type TwilioForm = Readonly<Record<string, string | readonly string[]>>;

export function readForm(bytes: Buffer): TwilioForm {
  return parse(bytes.toString('utf8'), '&', '=', { maxKeys: MAX_FIELDS }) as TwilioForm;
}

/** Empty for what is not there, or there twice. */
export function fieldOf(form: TwilioForm, name: string): string {
  const value = form[name];
  return typeof value === 'string' ? value : '';
}

/** Whether it was signed with an account's token. */
export type TwilioSignatureCheck = (authToken: string) => boolean;

/** Throws `missing_signature`. */
export function readTwilioSignature(
  url: string,
  form: TwilioForm,
  header: string | string[] | undefined,
): TwilioSignatureCheck {
  if (header === undefined || header === '') throw new ApiError('missing_signature');
  const signature = typeof header === 'string' ? header : '';
  return (authToken) => validateRequest(authToken, signature, url, form);
}
