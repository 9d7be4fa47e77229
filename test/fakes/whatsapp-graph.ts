/**
 * Meta's Graph API on loopback, as far as WhatsApp needs it: numbers of business accounts, messages, media, and webhooks that
 * are signed as Meta signs them. https://developers.facebook.com/docs/whatsapp/cloud-api/reference
 */
import { createHmac, randomInt } from 'node:crypto';
import { type ProviderCall, type ProviderReply, type ProviderServer, startProvider } from './provider-server.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
type Json = any;

const VERSION = '/v25.0/';
const USER_ID = /^[A-Z]{2}\.[A-Za-z0-9]+$/;

export interface FakeNumber {
  readonly phone_number_id: string;
  readonly business_account_id: string;
  readonly access_token: string;
  readonly app_secret: string;
  readonly display_phone_number: string;
}

export interface GraphServer extends Pick<ProviderServer, 'url' | 'calls' | 'failNext' | 'misbehave' | 'close'> {
  /** A new number of a new business account. */
  addNumber(): FakeNumber;
  /** As the number is saved. */
  bodyOf(number: FakeNumber): Json;
  /** What people got, in order. */
  readonly delivered: { readonly to: string; readonly message: Json }[];
  readonly subscribed: ReadonlySet<string>;
  /** A file that somebody has sent; `address` in place of the one that Graph would tell. */
  addMedia(file: { readonly mediaType: string; readonly text: string; readonly address?: string }): string;
}

export async function startGraph(): Promise<GraphServer> {
  const numbers: FakeNumber[] = [];
  const delivered: { to: string; message: Json }[] = [];
  const subscribed = new Set<string>();
  const media = new Map<string, { mediaType: string; text: string; address?: string; filename?: string }>();

  function answer(call: ProviderCall): ProviderReply {
    const [id = '', edge] = call.url.pathname.slice(VERSION.length).split('/');
    const number = numbers.find(({ access_token }) => call.headers.authorization === `Bearer ${access_token}`);
    if (number === undefined) return refuse(401, 190, 'Invalid OAuth access token.');
    if (call.url.pathname.startsWith('/files/')) return fileOf(call.url.pathname.slice('/files/'.length));
    const proof = createHmac('sha256', number.app_secret).update(number.access_token).digest('hex');
    if (call.url.searchParams.get('appsecret_proof') !== proof) {
      return refuse(400, 100, 'Invalid appsecret_proof provided in the API argument');
    }
    if (id === number.phone_number_id) return answerNumber(number, edge, call);
    if (id === number.business_account_id) return answerBusiness(number, edge, call);
    const file = media.get(id);
    if (file === undefined) return refuse(400, 100, 'Unsupported get request. Object does not exist');
    return {
      status: 200,
      body: {
        id,
        messaging_product: 'whatsapp',
        mime_type: file.mediaType,
        url: file.address ?? `${server.url}/files/${id}`,
      },
    };
  }

  function fileOf(id: string): ProviderReply {
    const file = media.get(id);
    if (file === undefined) return { status: 404, body: {} };
    return { status: 200, text: file.text, headers: { 'content-type': file.mediaType } };
  }

  function answerNumber(number: FakeNumber, edge: string | undefined, call: ProviderCall): ProviderReply {
    const { phone_number_id: id, display_phone_number } = number;
    if (edge === undefined) return { status: 200, body: { id, display_phone_number, verified_name: 'Ada' } };
    if (edge === 'media' && call.file !== undefined) {
      const mediaId = newId();
      const { mediaType, text, filename } = call.file;
      media.set(mediaId, { mediaType, text, filename });
      return { status: 200, body: { id: mediaId } };
    }
    return edge === 'messages' ? takeMessage(call.body) : refuse(400, 100, 'Unsupported request');
  }

  function takeMessage(message: Json): ProviderReply {
    if (message.status === 'read') return { status: 200, body: { success: true } };
    const problem = problemOf(message);
    if (problem !== undefined) return refuse(400, 100, problem);
    const to: string = message.to ?? message.recipient;
    // An id in place of a number is acknowledged, and never arrives.
    if (message.to === undefined || !USER_ID.test(to)) delivered.push({ to, message });
    return {
      status: 200,
      body: { messaging_product: 'whatsapp', contacts: [{ input: to }], messages: [{ id: `wamid.${newId()}` }] },
    };
  }

  function answerBusiness(number: FakeNumber, edge: string | undefined, call: ProviderCall): ProviderReply {
    const { business_account_id: id, phone_number_id } = number;
    if (edge === 'phone_numbers') return { status: 200, body: { data: [{ id: phone_number_id }] } };
    if (edge !== 'subscribed_apps') return refuse(400, 100, 'Unsupported request');
    if (call.method === 'DELETE') subscribed.delete(id);
    else subscribed.add(id);
    return { status: 200, body: { success: true } };
  }

  const server = await startProvider(async (call) => answer(call));
  return {
    url: server.url,
    calls: server.calls,
    failNext: server.failNext,
    misbehave: server.misbehave,
    close: server.close,
    delivered,
    subscribed,
    addNumber() {
      const id = newId();
      const number = {
        phone_number_id: id,
        business_account_id: newId(),
        access_token: `EAAG${id}`,
        app_secret: `secret-${id}`,
        display_phone_number: '+1 555-783-8881',
      };
      numbers.push(number);
      return number;
    },
    bodyOf: ({ display_phone_number: _shown, ...number }) => ({ ...number, api_base_url: server.url }),
    addMedia(file) {
      const id = newId();
      media.set(id, file);
      return id;
    },
  };
}

/** Undefined for a message that Graph takes. */
function problemOf(message: Json): string | undefined {
  const text = message.text?.body ?? message.interactive?.body?.text;
  const max = message.type === 'interactive' ? 1_024 : 4_096;
  if (message.messaging_product !== 'whatsapp') return '(#100) The parameter messaging_product is required.';
  if (message.to === undefined && message.recipient === undefined) return '(#100) The parameter to is required.';
  if (text !== undefined && (text === '' || text.length > max))
    return `Param text['body'] must be at most ${max} characters`;
  const titles = message.interactive?.action.buttons.map((button: Json) => button.reply.title) ?? [];
  if (titles.length > 3 || new Set(titles).size < titles.length) return 'Invalid buttons count, or duplicated titles';
  return titles.some((title: string) => title === '' || title.length > 20) ? 'Button title length invalid' : undefined;
}

function refuse(status: number, code: number, message: string): ProviderReply {
  return { status, body: { error: { message, type: 'OAuthException', code, fbtrace_id: 'A' } } };
}

function newId(): string {
  return String(randomInt(10 ** 13, 10 ** 14));
}

/** One change of the field `messages`, as Meta's webhooks have it. */
export function changeOf(number: Pick<FakeNumber, 'phone_number_id' | 'business_account_id'>, value: Json): Json {
  const metadata = { display_phone_number: '15557838881', phone_number_id: number.phone_number_id };
  return {
    id: number.business_account_id,
    changes: [{ field: 'messages', value: { messaging_product: 'whatsapp', metadata, ...value } }],
  };
}

let sent = 0;

/** A message of somebody whose number is told. */
export function textFrom(from: string, body: string, more: Json = {}): Json {
  sent += 1;
  return {
    contacts: [{ profile: { name: 'Ada' }, wa_id: from }],
    messages: [
      { from, id: `wamid.${Date.now()}-${sent}`, timestamp: '1762000000', type: 'text', text: { body }, ...more },
    ],
  };
}

/** Raw bytes and their header. `escaped`: signed as Meta says that it signs, and sent as UTF-8. */
export function signWebhook(
  entries: readonly Json[],
  secret: string,
  { escaped = false } = {},
): { readonly bytes: Buffer; readonly headers: Record<string, string> } {
  const text = JSON.stringify({ object: 'whatsapp_business_account', entry: entries });
  const signed = escaped
    ? text.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    : text;
  return { bytes: Buffer.from(text), headers: signatureOf(Buffer.from(signed), secret) };
}

export function signatureOf(bytes: Buffer, secret: string): Record<string, string> {
  return { 'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(bytes).digest('hex')}` };
}
