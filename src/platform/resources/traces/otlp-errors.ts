/**
 * Refusals as OTLP has them: a google.rpc.Status in the encoding of the request
 * (https://opentelemetry.io/docs/specs/otlp/#failures-1). In JSON the platform's envelope stands beside it.
 */
import type { OperationErrorDialect } from '../../../kernel/http/operation-errors.ts';
import { HttpReply, protobuf } from '../../../kernel/http/reply.ts';
import { encodeStatus } from '../../traces/index.ts';

export const PROTOBUF_TYPE = /^application\/(?:x-)?protobuf\b/i;

export const otlpErrors: OperationErrorDialect = {
  name: 'OtlpStatus',
  mediaType: 'application/json',
  unreadableStatus: 400,
  schema: {
    type: 'object',
    required: ['code', 'message', 'error'],
    properties: {
      code: { type: 'integer', description: 'Of google.rpc.Code.' },
      message: { type: 'string' },
      error: {
        type: 'object',
        required: ['message', 'type', 'code'],
        properties: {
          message: { type: 'string' },
          type: { type: 'string' },
          param: { type: ['string', 'null'] },
          code: { type: 'string', description: 'Stable; branch on it.' },
          details: { type: 'object', additionalProperties: true },
        },
      },
    },
  },
  render({ message, type, param, code, details }, { status, headers }) {
    const rpcCode = rpcCodeOf(status);
    if (PROTOBUF_TYPE.test(headers['content-type'] ?? '')) {
      return protobuf(encodeStatus(rpcCode, message), { status });
    }
    const error = { message, type, param, code, ...(details === undefined ? {} : { details }) };
    return new HttpReply(status, { code: rpcCode, message, error });
  },
};

/** https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto */
const RPC_CODES: Readonly<Record<number, number>> = { 401: 16, 403: 7, 404: 5, 413: 8, 429: 8, 503: 14 };
const INVALID_ARGUMENT = 3;
const INTERNAL = 13;

function rpcCodeOf(status: number): number {
  return RPC_CODES[status] ?? (status >= 500 ? INTERNAL : INVALID_ARGUMENT);
}
