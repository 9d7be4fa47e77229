/** What went wrong with a request, in the words that `classifyFailure` reads: those of the `@ai-sdk` packages. */
import { APICallError } from '@ai-sdk/provider';
import type { OutboundReply } from '../../../kernel/outbound/outbound.ts';
import { OutboundError } from '../../../kernel/outbound/outbound-error.ts';

/** The request itself is never kept with an error: it holds the prompt. */
const UNTOLD = { url: '', requestBodyValues: {} };

/** Of a connection that could not be made, or that broke. */
export function makeConnectionError(cause: unknown): unknown {
  if (cause instanceof OutboundError) return cause;
  return new APICallError({ ...UNTOLD, message: 'The connection failed.', cause, isRetryable: true });
}

/** Of a reply with the status of an error. */
export function makeStatusError({ status, headers }: OutboundReply, body: string): APICallError {
  return new APICallError({
    ...UNTOLD,
    message: 'The provider answered with an error.',
    statusCode: status,
    responseHeaders: headers,
    responseBody: body,
  });
}

/** Of a reply that is no answer of a model. */
export function makeUnreadableError({ status, headers }: OutboundReply, body: string, cause: Error): APICallError {
  return new APICallError({
    ...UNTOLD,
    message: 'The answer is unreadable.',
    statusCode: status,
    responseHeaders: headers,
    responseBody: body,
    cause,
  });
}
