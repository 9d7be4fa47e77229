/** Twilio's REST API, in the name of one account. */
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import { callProvider, type ProviderAnswer } from '../provider/call-provider.ts';
import { textAt } from '../provider/read-json.ts';

export const TWILIO_URL = 'https://api.twilio.com';
const VERSION = '2010-04-01';

export interface TwilioAccess {
  readonly baseUrl: string;
  readonly accountSid: string;
  readonly authToken: string;
}

export interface TwilioRequest {
  readonly method: 'GET' | 'POST';
  /** Behind the account, such as `Messages`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
}

/** What Twilio refused, in its own words. */
export interface TwilioRefusal {
  readonly code: number | undefined;
  readonly message: string;
}

export interface TwilioApi {
  /** Throws `NoAnswer`, and the signal's reason. */
  call(access: TwilioAccess, request: TwilioRequest, signal: AbortSignal): Promise<ProviderAnswer>;
}

export function createTwilioApi(outbound: Pick<Outbound, 'fetch'>): TwilioApi {
  const fetch = outbound.fetch('public', { httpsOnly: true, maxRedirects: 0 });
  return {
    call(access, { method, path, query = {}, form }, signal) {
      const url = new URL(`${access.baseUrl}/${VERSION}/Accounts/${access.accountSid}/${path}.json`);
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      const body = form === undefined ? {} : { body: new URLSearchParams(form) };
      return callProvider(fetch, { url, method, headers: authorizationOf(access), signal, ...body });
    },
  };
}

export function authorizationOf({ accountSid, authToken }: Omit<TwilioAccess, 'baseUrl'>): { authorization: string } {
  return { authorization: `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}` };
}

export function readRefusal({ status, body }: ProviderAnswer): TwilioRefusal {
  const code = typeof body.code === 'number' ? body.code : undefined;
  return { code, message: textAt(body, 'message') ?? `status ${status}` };
}
