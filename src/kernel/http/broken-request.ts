/** Answers what is no HTTP request. No hook has seen it, so what every answer carries is written here again. */
import { randomUUID } from 'node:crypto';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiVersion } from './check-request.ts';
import { ApiError, type ErrorCatalogue, type ErrorDialect, errorBody } from './errors.ts';
import { addressKey, type Meter, quotaHeaders } from './rate-limit.ts';

/** Node's errors that have a status of their own; every other is 400. */
const STATUSES: Readonly<Record<string, { readonly status: number; readonly message: string }>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request took too long to arrive. Send it again.' },
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The headers are too large. Send fewer, or shorter ones.' },
};
const OTHER = { status: 400, message: 'This is no HTTP/1.1 request. Check its request line, headers and framing.' };

export interface BrokenRequestOptions {
  readonly errors: ErrorCatalogue;
  readonly errorDialect: ErrorDialect;
  readonly apiVersion?: ApiVersion;
  /** Shown, not taken from: no request has come. */
  readonly addressMeter: Meter;
}

/** Writes the answer and ends the connection: where the next request would begin is not known. */
export async function answerBrokenRequest(
  error: NodeJS.ErrnoException,
  socket: Socket,
  { errors, errorDialect, apiVersion, addressMeter }: BrokenRequestOptions,
): Promise<void> {
  if (error.code === 'ECONNRESET' || !socket.writable) return;
  const quota = await addressMeter.look(addressKey(socket.remoteAddress ?? ''));
  if (!socket.writable) return;
  // Node keeps the answer in progress here, and looks at it before it would answer by itself.
  const { _httpMessage: answering } = socket as Socket & { _httpMessage?: ServerResponse };
  if (answering?.headersSent === true) {
    socket.destroy();
    return;
  }
  const { status, message } = STATUSES[error.code ?? ''] ?? OTHER;
  const body = JSON.stringify(errorBody(errors, new ApiError('invalid_request', { message }), errorDialect));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${randomUUID()}`,
    ...(apiVersion === undefined ? [] : [`${apiVersion.header}: ${apiVersion.live.at(-1)}`]),
    ...Object.entries(quotaHeaders(quota)).map(([name, value]) => `${name}: ${value}`),
    'Access-Control-Allow-Origin: *',
    'Access-Control-Expose-Headers: *',
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
