import { ApiError } from '../../kernel/http/errors.ts';
import { parseJsonText } from '../../kernel/http/json-body.ts';
import type { RawBody } from '../../kernel/http/request-body.ts';
import type { JsonRpcMessage } from './exchange.ts';
import { JsonRpcError } from './json-rpc-error.ts';

const JSON_TYPE = /^application\/json\s*(?:;|$)/i;
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

/** The one message of a body. Throws `invalid_request` for a body of another type, and JsonRpcError for what is no message. */
export function readMessage({ bytes, contentType }: RawBody): JsonRpcMessage {
  if (!JSON_TYPE.test(contentType)) {
    const message = 'Send the message as application/json.';
    throw new ApiError('invalid_request', { param: 'Content-Type', message });
  }
  const body = parse(bytes);
  if (Array.isArray(body)) throw new JsonRpcError(400, INVALID_REQUEST, 'Batches are not taken. Send one message.');
  if (body === null || typeof body !== 'object') {
    throw new JsonRpcError(400, INVALID_REQUEST, 'The body is no JSON-RPC message.');
  }
  return body;
}

function parse(bytes: Buffer): unknown {
  try {
    return parseJsonText(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new JsonRpcError(400, PARSE_ERROR, 'The body is no JSON in UTF-8, or has too many parts.');
  }
}
