/** Meta's Graph API as WhatsApp uses it, in the name of one account. */
import { createHmac } from 'node:crypto';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { JsonObject } from '../../tables.ts';
import { callProvider, type MultipartBody, type ProviderAnswer } from '../provider/call-provider.ts';
import { objectAt, textAt } from '../provider/read-json.ts';

export const GRAPH_URL = 'https://graph.facebook.com';
const VERSION = 'v25.0';

export interface GraphAccess {
  readonly baseUrl: string;
  readonly accessToken: string;
  readonly appSecret: string;
}

export interface GraphRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Behind the version. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: JsonObject | MultipartBody;
}

/** What Graph refused, in its own words. */
export interface GraphRefusal {
  readonly code: number | undefined;
  readonly message: string;
}

export interface Graph {
  /** Throws `NoAnswer`, and the signal's reason. */
  call(access: GraphAccess, request: GraphRequest, signal: AbortSignal): Promise<ProviderAnswer>;
}

export function createGraph(outbound: Pick<Outbound, 'fetch'>): Graph {
  const fetch = outbound.fetch('public', { httpsOnly: true, maxRedirects: 0 });
  return {
    call({ baseUrl, accessToken, appSecret }, { method, path, query = {}, body }, signal) {
      const url = new URL(`${baseUrl}/${VERSION}/${path}`);
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      // Says that whoever has the token has the app's secret too; Graph refuses a wrong one.
      url.searchParams.set('appsecret_proof', createHmac('sha256', appSecret).update(accessToken).digest('hex'));
      const headers = { authorization: `Bearer ${accessToken}` };
      return callProvider(fetch, { url, method, headers, signal, ...(body !== undefined && { body }) });
    },
  };
}

/** Undefined where the answer is none. */
export function readRefusal({ body }: ProviderAnswer): GraphRefusal | undefined {
  const error = objectAt(body, 'error');
  const message = textAt(objectAt(error, 'error_data'), 'details') ?? textAt(error, 'message');
  const code = typeof error.code === 'number' ? error.code : undefined;
  return message === undefined && code === undefined ? undefined : { code, message: message ?? `error ${code}` };
}
