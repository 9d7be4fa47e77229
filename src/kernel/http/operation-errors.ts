/**
 * Error dialects of single operations: a protocol that has its own error format (OAuth, JSON-RPC), or a page for people.
 * Every refusal of such an operation is told in its dialect: by version, load, token, scope, budget, body and handler.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { PublicError } from './errors.ts';
import { escapeHtml, HttpReply, html, type TextReply } from './reply.ts';

/** The request that is refused. */
export interface FailedRequest {
  /** That the service's catalogue gives the code. */
  readonly status: number;
  readonly requestId: string;
  readonly headers: IncomingHttpHeaders;
  /** As far as it was read: undefined where the refusal came before the body. */
  readonly body: unknown;
}

export interface OperationErrorDialect {
  /** The name of its schema among the document's components. */
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly mediaType: 'application/json' | 'application/rdap+json' | 'text/html';
  /** What the protocol demands for a request that cannot be read, besides the catalogue's status of `invalid_request`. */
  readonly unreadableStatus?: number;
  /** The whole answer. Quota, version and `Retry-After` are the service's; headers given here take the place of others. */
  render(error: PublicError, failed: FailedRequest): HttpReply | TextReply;
}

const OAUTH_SCHEMA = {
  type: 'object',
  required: ['error'],
  properties: {
    error: { type: 'string', description: 'Stable; branch on it.' },
    error_description: { type: 'string', description: 'For developers: what went wrong and what to do next.' },
  },
} as const;

/** What OAuth calls a code of the catalogue, and the status that it demands where that differs. */
export type OAuthNames = Readonly<Record<string, { readonly error: string; readonly status?: number }>>;

/** `{error, error_description}` (RFC 6749, section 5.2). A code without a name is told by its status. */
export function oauthErrors(names: OAuthNames = {}): OperationErrorDialect {
  return {
    name: 'OAuthError',
    schema: OAUTH_SCHEMA,
    mediaType: 'application/json',
    render({ code, message }, { status }) {
      const named = names[code] ?? nameByStatus(status);
      // The section allows printable ASCII without quotes and backslashes.
      const description = message.replaceAll('"', "'").replaceAll(/[^\x20-\x7e]|\\/gu, ' ');
      return new HttpReply(
        named.status ?? status,
        { error: named.error, error_description: description },
        { 'cache-control': 'no-store' },
      );
    },
  };
}

function nameByStatus(status: number): { error: string; status?: number } {
  if (status === 401) return { error: 'invalid_client' };
  if (status === 403) return { error: 'insufficient_scope' };
  if (status === 429 || status === 503) return { error: 'temporarily_unavailable' };
  if (status >= 500) return { error: 'server_error' };
  return { error: 'invalid_request', status: 400 };
}

/** https://www.jsonrpc.org/specification#error_object; what is not the protocol's own is in the server's range. */
const JSON_RPC_INVALID_REQUEST = -32_600;
const JSON_RPC_INTERNAL_ERROR = -32_603;
const JSON_RPC_SERVER_ERROR = -32_000;

/** JSON-RPC 2.0. The `id` is the request's, or null where it has none that can be read; the service's code is in `data`. */
export const jsonRpcErrors: OperationErrorDialect = {
  name: 'JsonRpcError',
  mediaType: 'application/json',
  schema: {
    type: 'object',
    required: ['jsonrpc', 'id', 'error'],
    properties: {
      jsonrpc: { type: 'string', const: '2.0' },
      id: { type: ['string', 'number', 'null'] },
      error: {
        type: 'object',
        required: ['code', 'message'],
        properties: {
          code: { type: 'integer' },
          message: { type: 'string' },
          data: { type: 'object', additionalProperties: true },
        },
      },
    },
  },
  render({ code, message, param, details }, { status, body }) {
    const data = { code, ...(param === null ? {} : { param }), ...(details === undefined ? {} : { details }) };
    const error = { code: jsonRpcCode(status), message, data };
    return new HttpReply(status, { jsonrpc: '2.0', id: requestIdIn(body), error });
  },
};

function jsonRpcCode(status: number): number {
  if (status === 400 || status === 422) return JSON_RPC_INVALID_REQUEST;
  return status === 500 ? JSON_RPC_INTERNAL_ERROR : JSON_RPC_SERVER_ERROR;
}

function requestIdIn(body: unknown): string | number | null {
  if (body === null || typeof body !== 'object') return null;
  const { id } = body as { id?: unknown };
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

/** A page for people. `render` makes it of what they may see; without it they get a plain one. */
export function pageErrors(
  render: (error: PublicError, failed: FailedRequest) => TextReply = plainPage,
): OperationErrorDialect {
  return { name: 'ErrorPage', schema: { type: 'string' }, mediaType: 'text/html', render };
}

function plainPage({ message }: PublicError, { status, requestId }: FailedRequest): TextReply {
  const title = status >= 500 ? 'Something went wrong' : 'This did not work';
  const lines = [
    '<!doctype html>',
    `<html lang="en"><head><meta charset="utf-8"><title>${title}</title>`,
    '<meta name="viewport" content="width=device-width, initial-scale=1"></head>',
    `<body><h1>${title}</h1><p>${escapeHtml(message)}</p><p>Request ${escapeHtml(requestId)}</p></body></html>`,
  ];
  return html(lines.join('\n'), { status });
}
