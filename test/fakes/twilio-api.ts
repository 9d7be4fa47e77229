/**
 * Twilio's REST API on loopback, as far as numbers need it: their list, where they bring messages, messages, media; and calls of
 * its own, signed as https://www.twilio.com/docs/usage/webhooks/webhooks-security says.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { type ProviderCall, type ProviderReply, type ProviderServer, startProvider } from './provider-server.ts';

export interface FakePhoneNumber {
  readonly sid: string;
  readonly account_sid: string;
  readonly auth_token: string;
  readonly phone_number: string;
  readonly capabilities: Readonly<Record<'sms' | 'voice', boolean>>;
  sms_url: string;
  voice_url: string;
}

interface FakeMessage {
  readonly sid: string;
  readonly from: string;
  readonly to: string;
  readonly body: string;
  readonly date_created: string;
}

export interface TwilioServer extends Pick<ProviderServer, 'url' | 'calls' | 'failNext' | 'misbehave' | 'close'> {
  /** A new number of a new account. */
  addNumber(capabilities?: FakePhoneNumber['capabilities']): FakePhoneNumber;
  /** As a deployment is told of it. */
  settingsOf(number: FakePhoneNumber): {
    readonly provider: string;
    readonly provider_metadata: object;
    readonly secrets: object;
  };
  /** What people got, in order. */
  readonly delivered: FakeMessage[];
  /** The address of a file that somebody has sent; or of one that lies elsewhere. */
  addMedia(file: { readonly mediaType: string; readonly text: string } | { readonly location: string }): string;
}

const VERSION = '/2010-04-01/Accounts/';

export async function startTwilio(): Promise<TwilioServer> {
  const numbers: FakePhoneNumber[] = [];
  const delivered: FakeMessage[] = [];
  const media = new Map<string, ProviderReply>();

  function answer({ method, url, headers, body }: ProviderCall): ProviderReply {
    const file = media.get(url.pathname);
    const [accountSid = '', what, id] = url.pathname
      .slice(VERSION.length)
      .replace(/\.json$/, '')
      .split('/');
    const own = numbers.filter((number) => number.account_sid === accountSid && isKnown(number, headers.authorization));
    if (own.length === 0) return refuse(401, 20003, 'Authenticate');
    if (file !== undefined) return file;
    if (what === 'IncomingPhoneNumbers') {
      if (id !== undefined)
        return update(
          own.find(({ sid }) => sid === id),
          body,
        );
      const wanted = own.filter(({ phone_number }) => phone_number === url.searchParams.get('PhoneNumber'));
      return { status: 200, body: { incoming_phone_numbers: wanted.map(({ auth_token: _, ...shown }) => shown) } };
    }
    if (what !== 'Messages') return refuse(404, 20404, 'The requested resource was not found');
    return method === 'GET' ? list(url.searchParams) : send(own, body);
  }

  function update(number: FakePhoneNumber | undefined, body: Record<string, string>): ProviderReply {
    if (number === undefined) return refuse(404, 20404, 'The requested resource was not found');
    number.sms_url = body.SmsUrl ?? number.sms_url;
    number.voice_url = body.VoiceUrl ?? number.voice_url;
    return { status: 200, body: number };
  }

  function list(query: URLSearchParams): ProviderReply {
    const found = delivered.filter(({ to, from }) => to === query.get('To') && from === query.get('From'));
    return { status: 200, body: { messages: found.toReversed() } };
  }

  function send(own: readonly FakePhoneNumber[], { From: from, To: to, Body: body = '' }: Record<string, string>) {
    if (!own.some(({ phone_number }) => phone_number === from))
      return refuse(400, 21606, 'The From number is not yours');
    if (body === '' || body.length > 1_600) return refuse(400, 21617, 'The message body must be 1 to 1600 characters');
    const message = {
      sid: mintSid('SM'),
      from: from ?? '',
      to: to ?? '',
      body,
      date_created: new Date().toUTCString(),
    };
    delivered.push(message);
    return { status: 201, body: message };
  }

  const server = await startProvider(async (call) => answer(call));
  return {
    url: server.url,
    calls: server.calls,
    failNext: server.failNext,
    misbehave: server.misbehave,
    close: server.close,
    delivered,
    addNumber(capabilities = { sms: true, voice: true }) {
      const number = {
        sid: mintSid('PN'),
        account_sid: mintSid('AC'),
        auth_token: randomBytes(16).toString('hex'),
        phone_number: `+1555${String(numbers.length).padStart(7, '0')}`,
        capabilities,
        sms_url: 'https://demo.twilio.com/welcome/sms/reply',
        voice_url: 'https://demo.twilio.com/welcome/voice/',
      };
      numbers.push(number);
      return number;
    },
    settingsOf: ({ account_sid, phone_number, auth_token }) => ({
      provider: 'twilio',
      provider_metadata: { account_sid, number: phone_number, api_base_url: server.url },
      secrets: { auth_token },
    }),
    addMedia(file) {
      const path = `${VERSION}${numbers.at(-1)?.account_sid}/Messages/${mintSid('MM')}/Media/${mintSid('ME')}`;
      const reply =
        'location' in file
          ? { status: 307, text: '', headers: { location: file.location } }
          : { status: 200, text: file.text, headers: { 'content-type': file.mediaType } };
      media.set(path, reply);
      return server.url + path;
    },
  };
}

function isKnown({ account_sid, auth_token }: FakePhoneNumber, authorization: string | undefined): boolean {
  return authorization === `Basic ${Buffer.from(`${account_sid}:${auth_token}`).toString('base64')}`;
}

function refuse(status: number, code: number, message: string): ProviderReply {
  return { status, body: { code, message, status, more_info: `https://www.twilio.com/docs/errors/${code}` } };
}

export function mintSid(prefix: string): string {
  return prefix + randomBytes(16).toString('hex');
}

/** The fields of a message that somebody has sent to the number. */
export function smsTo(number: FakePhoneNumber, from: string, text: string, more: object = {}): Record<string, string> {
  const sid = mintSid('SM');
  const { account_sid, phone_number } = number;
  const fields = { MessageSid: sid, SmsSid: sid, AccountSid: account_sid, NumMedia: '0', NumSegments: '1' };
  return { ...fields, To: phone_number, From: from, Body: text, ...more };
}

/** Its header. `url`: what Twilio was told to call. */
export function signTwilio(authToken: string, url: string, fields: Readonly<Record<string, string>>) {
  const signed =
    url +
    Object.keys(fields)
      .sort()
      .map((name) => name + fields[name])
      .join('');
  return { 'x-twilio-signature': createHmac('sha1', authToken).update(signed).digest('base64') };
}
