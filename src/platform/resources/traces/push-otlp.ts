import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { sql } from 'kysely';
import type { Clock } from '../../../kernel/clock/clock.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { parseJsonText } from '../../../kernel/http/json-body.ts';
import { protobuf, type TextReply } from '../../../kernel/http/reply.ts';
import type { RawBody } from '../../../kernel/http/request-body.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { mayRefer, smithOf } from '../../access/references.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { encodeResponse, OtlpDecodeError, pushOtlp as push } from '../../traces/index.ts';
import { PROTOBUF_TYPE } from './otlp-errors.ts';
import type { OtlpAnswer } from './schema.ts';

/** As they are sent, compressed or not. */
export const MAX_OTLP_BYTES = 4 * 1024 * 1024;
/** Once they are unpacked. */
const MAX_UNPACKED_BYTES = 8 * 1024 * 1024;
const JSON_TYPE = /^application\/json\b/i;
const BAD_REQUEST = 400;
const UNPROCESSABLE = 422;

type Request = ProjectRead<{ body: RawBody }>;

/** Answers in the encoding of the request. What is rejected is told, with 200: the rest is stored. */
export function pushOtlp({ clock }: { readonly clock: Clock }) {
  return async ({ db, caller, body, headers }: Request): Promise<OtlpAnswer | TextReply> => {
    const isProtobuf = PROTOBUF_TYPE.test(body.contentType);
    if (!isProtobuf && !JSON_TYPE.test(body.contentType)) {
      throw refuse('Content-Type', 'Send application/x-protobuf or application/json.', UNPROCESSABLE);
    }
    const bytes = await unpack(body.bytes, headers['content-encoding']);
    const outcome = await push(
      {
        db,
        pusher: smithOf(caller) ?? '',
        now: clock.now(),
        findSmiths: (ids) => findSmiths(db, caller, ids),
      },
      isProtobuf ? bytes : { json: parse(bytes) },
    ).catch((error: unknown) => {
      throw error instanceof OtlpDecodeError ? refuse(undefined, error.message) : error;
    });
    if (isProtobuf) return protobuf(encodeResponse(outcome));
    const { rejectedSpans, message } = outcome;
    return rejectedSpans === 0
      ? {}
      : { partialSuccess: { rejectedSpans: String(rejectedSpans), errorMessage: message } };
  };
}

/** Those of these smiths that the caller may name. */
async function findSmiths(db: TenantDb, caller: ProjectCaller, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const named = ids.filter((id) => caller.kind === 'tenant' || caller.smithId === id);
  if (named.length === 0 || !mayRefer(caller, 'smith')) return new Set();
  const query = db.selectFrom('smiths').select('id').where(sql<boolean>`id = any(${named})`);
  const rows = await query.where('archived_at', 'is', null).execute();
  return new Set(rows.map(({ id }) => id));
}

const gunzipAsync = promisify(gunzip);

/** Never more than MAX_UNPACKED_BYTES, whatever the body says that it holds. */
async function unpack(bytes: Buffer, encoding: string | undefined): Promise<Buffer> {
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return bytes;
  if (encoding.toLowerCase() !== 'gzip') {
    throw refuse('Content-Encoding', 'Compress the body with gzip, or not at all.', UNPROCESSABLE);
  }
  try {
    return await gunzipAsync(bytes, { maxOutputLength: MAX_UNPACKED_BYTES });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new ApiError('payload_too_large', {
        message: `The body is larger than ${MAX_UNPACKED_BYTES} bytes once it is unpacked.`,
      });
    }
    throw refuse('Content-Encoding', 'The body is no gzip.');
  }
}

function parse(bytes: Buffer): unknown {
  const text = bytes.toString('utf8');
  if (text === '') return {};
  try {
    return parseJsonText(text);
  } catch (error) {
    throw refuse(undefined, `The body cannot be read: ${(error as Error).message.slice(0, 200)}.`);
  }
}

function refuse(param: string | undefined, message: string, status = BAD_REQUEST): ApiError {
  return new ApiError('invalid_request', { message, status, ...(param === undefined ? {} : { param }) });
}
