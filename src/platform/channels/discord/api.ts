/** Discord's REST API as channels use it. */
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { JsonObject } from '../../tables.ts';
import {
  callProvider,
  type MultipartBody,
  type ProviderAnswer,
  type ProviderRequest,
} from '../provider/call-provider.ts';
import { asObject, objectAt, textAt } from '../provider/read-json.ts';

export const DISCORD_URL = 'https://discord.com';
const VERSION = 'api/v10';

export interface DiscordRequest {
  readonly method: ProviderRequest['method'];
  /** Behind the version; segments are encoded. */
  readonly path: string;
  readonly body?: JsonObject | MultipartBody;
  /** Absent: the path holds an interaction's token, which is enough. */
  readonly botToken?: string | undefined;
}

export interface DiscordApi {
  /** Throws `NoAnswer`, and the signal's reason. */
  call(baseUrl: string, request: DiscordRequest, signal: AbortSignal): Promise<ProviderAnswer>;
}

export function createDiscordApi(outbound: Pick<Outbound, 'fetch'>): DiscordApi {
  const fetch = outbound.fetch('public', { httpsOnly: true, maxRedirects: 0 });
  return {
    call(baseUrl, { method, path, body, botToken }, signal) {
      const headers = {
        // Discord refuses clients that do not say what they are.
        'user-agent': 'DiscordBot (https://github.com/ironcraft, 1)',
        ...(botToken !== undefined && { authorization: `Bot ${botToken}` }),
      };
      const url = new URL(`${baseUrl}/${VERSION}/${path}`);
      return callProvider(fetch, { url, method, headers, signal, ...(body !== undefined && { body }) });
    },
  };
}

export interface DiscordRefusal {
  readonly code: number | undefined;
  readonly message: string;
}

/** What Discord says was wrong: of a form its first field's, which is more than `Invalid Form Body`. */
export function readRefusal({ status, body }: ProviderAnswer): DiscordRefusal {
  const code = typeof body.code === 'number' ? body.code : undefined;
  const message = firstFieldError(objectAt(body, 'errors'), 0) ?? textAt(body, 'message') ?? `status ${status}`;
  return { code, message };
}

function firstFieldError(errors: JsonObject, depth: number): string | undefined {
  if (depth > 8) return undefined;
  const own: unknown = errors._errors;
  if (Array.isArray(own)) return textAt(asObject(own[0]), 'message');
  for (const inner of Object.values(errors)) {
    const message = firstFieldError(asObject(inner), depth + 1);
    if (message !== undefined) return message;
  }
  return undefined;
}
