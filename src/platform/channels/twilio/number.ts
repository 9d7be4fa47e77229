/** A number of Twilio's as a deployment has it: the account that it belongs to, and what opens that. */
import { ApiError } from '../../../kernel/http/errors.ts';
import type { JsonObject } from '../../tables.ts';
import { settingOf } from '../accounts/open-account.ts';
import type { OpenAccount } from '../channel.ts';
import { TWILIO_URL, type TwilioAccess } from './api.ts';

/** E.164. */
export const PHONE_NUMBER = /^\+[1-9]\d{6,14}$/;
const ACCOUNT_SID = /^AC[0-9a-f]{32}$/;
const AUTH_TOKEN = /^[\x21-\x7e]{8,256}$/;

export interface TwilioNumber {
  readonly number: string;
  readonly access: TwilioAccess;
}

interface GivenNumber {
  readonly provider?: string | null;
  readonly provider_metadata?: JsonObject;
  readonly secrets?: JsonObject;
}

/** Throws `unsupported` for another provider, `invalid_request`, and `invalid_url` for what is no address. */
export function readNumber({ provider, provider_metadata = {}, secrets = {} }: GivenNumber): TwilioNumber {
  if (provider !== 'twilio') {
    const message = 'Numbers are served through Twilio alone. Send `provider` as `twilio`.';
    throw new ApiError('unsupported', { param: 'provider', message });
  }
  refuseOthers('provider_metadata', provider_metadata, ['account_sid', 'number', 'api_base_url']);
  refuseOthers('secrets', secrets, ['auth_token']);
  const { account_sid, number, api_base_url } = provider_metadata;
  return {
    number: requireText(
      number,
      PHONE_NUMBER,
      'provider_metadata.number',
      'a phone number in E.164, such as `+4930901820`',
    ),
    access: {
      baseUrl: api_base_url == null ? TWILIO_URL : readUrl(api_base_url),
      accountSid: requireText(
        account_sid,
        ACCOUNT_SID,
        'provider_metadata.account_sid',
        '`AC` and 32 hexadecimal digits',
      ),
      authToken: requireText(secrets.auth_token, AUTH_TOKEN, 'secrets.auth_token', 'the Auth Token of the account'),
    },
  };
}

/** What the deployment shows of it. */
export function numberMetadata({ number, access: { accountSid, baseUrl } }: TwilioNumber): JsonObject {
  return { account_sid: accountSid, number, ...(baseUrl !== TWILIO_URL && { api_base_url: baseUrl }) };
}

/** Undefined where Twilio has no such number. */
export function numberIdOf(accountSid: string, number: string): string | undefined {
  return ACCOUNT_SID.test(accountSid) && PHONE_NUMBER.test(number) ? `${accountSid}:${number}` : undefined;
}

/**
 * Names the number over all projects. Whoever brings an API of their own brings accounts of their own: they never speak for
 * a number at Twilio.
 */
export function accountIdOf({ number, access: { accountSid, baseUrl } }: TwilioNumber): string {
  return `${accountSid}:${number}${baseUrl === TWILIO_URL ? '' : `:${baseUrl}`}`;
}

export function accessOf({ settings, secrets }: Pick<OpenAccount, 'settings' | 'secrets'>): TwilioAccess {
  return {
    baseUrl: settingOf(settings, 'api_base_url') || TWILIO_URL,
    accountSid: settingOf(settings, 'account_sid'),
    authToken: secrets.auth_token ?? '',
  };
}

function refuseOthers(param: string, given: JsonObject, known: readonly string[]): void {
  const other = Object.keys(given).find((name) => !known.includes(name));
  if (other === undefined) return;
  const message = `A number has no \`${other}\` there. Send ${known.map((name) => `\`${name}\``).join(', ')}.`;
  throw new ApiError('invalid_request', { param: `${param}.${other}`, message });
}

function requireText(given: unknown, pattern: RegExp, param: string, what: string): string {
  // Pasted tokens tend to bring a line break along.
  const text = typeof given === 'string' ? given.trim() : '';
  if (pattern.test(text)) return text;
  throw new ApiError('invalid_request', {
    param,
    message: `\`${param}\` has to be ${what}. Copy it from Twilio’s console.`,
  });
}

/** Without the slashes that it ends with: paths are appended to it. */
function readUrl(given: unknown): string {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined;
  if (url !== undefined && url.search === '' && url.hash === '') return url.href.replace(/\/+$/, '');
  throw new ApiError('invalid_url', {
    param: 'provider_metadata.api_base_url',
    message: '`api_base_url` is no address that paths can be appended to. Leave it out for Twilio itself.',
  });
}
