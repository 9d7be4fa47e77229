/** Answers what is no HTTP request, or comes on a connection too many. No hook has seen it, so what every answer carries is written here again. */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimer } from '../clock/timers.ts';
import type { ApiVersion } from './check-request.ts';
import { ApiError, codeIn, type ErrorCatalogue, type ErrorDialect, errorBody } from './errors.ts';
import { nodeHttp } from './node-http.ts';
import { addressKey, type Meter, type Quota, quotaHeaders } from './rate-limit.ts';
import { HEADERS_TOO_LARGE } from './request-head.ts';

/** Node's errors that have a status of their own; every other is 400. */
const STATUSES: Readonly<Record<string, { readonly status: number; readonly message: string }>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request took too long to arrive. Send it again.' },
  HPE_HEADER_OVERFLOW: HEADERS_TOO_LARGE,
};
const OTHER = { status: 400, message: 'This is no HTTP/1.1 request. Check its request line, headers and framing.' };
/** How long who has been answered may go on before the connection is cut off. */
const CLOSE_TIMEOUT_MS = 1_000;

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
  options: BrokenRequestOptions,
): Promise<void> {
  if (error.code === 'ECONNRESET' || !socket.writable) return;
  const quota = await options.addressMeter.look(addressKey(socket.remoteAddress ?? ''));
  if (!socket.writable) return;
  // Node keeps the answer in progress here, and looks at it before it would answer by itself.
  const { _httpMessage: answering } = socket as Socket & { _httpMessage?: ServerResponse };
  if (answering?.headersSent === true) {
    socket.destroy();
    return;
  }
  const detail = STATUSES[error.code ?? ''] ?? OTHER;
  endWith(socket, renderAnswer(new ApiError('invalid_request', detail), quota, options));
}

/** Tells a connection that was not let in why, and closes it. */
export async function answerRefusedConnection(
  socket: Socket,
  refusal: ApiError,
  options: BrokenRequestOptions,
): Promise<void> {
  socket.on('error', () => socket.destroy());
  const quota = await options.addressMeter.look(addressKey(socket.remoteAddress ?? ''));
  if (socket.writable) endWith(socket, renderAnswer(refusal, quota, options));
  else socket.destroy();
}

/** What still comes is taken in and dropped for a moment: upon unread bytes the connection would be reset, and the answer lost. */
function endWith(socket: Socket, answer: string): void {
  const timer = setTimer(() => socket.destroy(), CLOSE_TIMEOUT_MS);
  socket.once('close', () => timer.cancel());
  socket.end(answer);
  socket.resume();
}

function renderAnswer(
  refusal: ApiError,
  quota: Quota,
  { errors, errorDialect, apiVersion }: BrokenRequestOptions,
): string {
  const { retryAfterSeconds } = refusal.detail;
  const status = refusal.detail.status ?? errors[codeIn(errors, errorDialect, refusal.code)]?.status ?? 500;
  const body = JSON.stringify(errorBody(errors, refusal, errorDialect));
  const head = [
    `HTTP/1.1 ${status} ${nodeHttp.STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${randomUUID()}`,
    ...(apiVersion === undefined ? [] : [`${apiVersion.header}: ${apiVersion.live.at(-1)}`]),
    ...(retryAfterSeconds === undefined ? [] : [`Retry-After: ${retryAfterSeconds}`]),
    ...Object.entries(quotaHeaders(quota)).map(([name, value]) => `${name}: ${value}`),
    'Access-Control-Allow-Origin: *',
    'Access-Control-Expose-Headers: *',
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
