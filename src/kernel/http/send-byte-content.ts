/**
 * Sends bytes: the whole, one range of it (RFC 9110, section 14) or nothing, where the caller has it already (section 13).
 */
import { Readable } from 'node:stream';
import { create } from 'content-disposition';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ByteContent, ContentRange } from './byte-content.ts';
import { ApiError } from './errors.ts';
import { setHeader } from './request-state.ts';

/** Answers 200, 206 or 304; throws the refusal of a range that lies behind the end (416). */
export async function sendByteContent(
  request: FastifyRequest,
  reply: FastifyReply,
  { facts }: ByteContent,
): Promise<FastifyReply> {
  const { totalBytes } = facts;
  const etag = `"${facts.etag}"`;
  const set = (name: string, value: string) => setHeader(request, reply, name, value);
  set('etag', etag);
  set('accept-ranges', 'bytes');
  set('cache-control', 'private, no-cache');
  if (matchesAny(request.headers['if-none-match'], etag)) return reply.code(304).send();

  const range = request.method === 'HEAD' ? undefined : readRange(request, etag, totalBytes);
  const first = range?.start ?? 0;
  const last = range?.end ?? totalBytes - 1;
  const stream = request.method === 'HEAD' ? Readable.from([]) : await facts.open(range);
  set('content-disposition', attachment(facts.filename));
  set('content-length', String(last - first + 1));
  // Whatever it claims to be, no browser is to find a page in it.
  set('x-content-type-options', 'nosniff');
  if (facts.contentSecurityPolicy !== undefined) set('content-security-policy', facts.contentSecurityPolicy);
  if (range !== undefined) set('content-range', `bytes ${first}-${last}/${totalBytes}`);
  return reply
    .code(range === undefined ? 200 : 206)
    .type(facts.mediaType)
    .send(stream);
}

/** Whether the tag is among those of `If-None-Match`, which compares weakly. */
function matchesAny(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.trim() === '*' || header.match(/"[^"]*"/g)?.includes(etag) === true;
}

/**
 * The range that the caller asks for; undefined where it asks for none, or in a way that may be ignored: another unit,
 * several ranges, a range of an earlier content, one that ends before it begins. A suffix longer than the content is the
 * whole of it. (The parsers on offer answer these last two with 416.)
 */
function readRange({ headers }: FastifyRequest, etag: string, totalBytes: number): ContentRange | undefined {
  const [, from = '', to = ''] = /^bytes=\s*(\d*)-(\d*)\s*$/.exec(headers.range ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  const ifRange = headers['if-range'];
  if (ifRange !== undefined && ifRange !== etag) return undefined;
  const start = from === '' ? Math.max(0, totalBytes - Number(to)) : Number(from);
  const end = from === '' || to === '' ? totalBytes - 1 : Math.min(Number(to), totalBytes - 1);
  if (from !== '' && to !== '' && Number(to) < Number(from)) return undefined;
  if (start > end) throw behindTheEnd(totalBytes);
  return { start, end };
}

function behindTheEnd(totalBytes: number): ApiError {
  return new ApiError('invalid_request', {
    status: 416,
    param: 'Range',
    message: `The range lies behind the last of ${totalBytes} bytes.`,
    headers: { 'content-range': `bytes */${totalBytes}` },
  });
}

/** `Content-Disposition` of a download: a plain name for old clients, the true one beside it where they differ. */
function attachment(filename: string): string {
  const name = filename.toWellFormed();
  // Clients unquote, unescape and decode plain names each in their own way: what invites that is left out.
  const fallback = name.replaceAll(/[^\x20-\x7e]/gu, '_').replaceAll(/["\\%]/g, '_');
  return create(name, { fallback });
}
