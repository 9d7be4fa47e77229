/**
 * How long a request's address and headers may be. Node cuts a connection off whose request line and headers are longer than `MAX_HEAD_BYTES`
 * together, before anybody knows what was asked for; what is shorter and still too long is refused as any other request is.
 */
import { ApiError } from './errors.ts';

/** Of the request line and the headers, for Node (`maxHeaderSize`): a connection holds so much memory before its request is known. */
export const MAX_HEAD_BYTES = 32_768;
/** Characters of the address, of which each is a byte. */
export const MAX_URL_LENGTH = 16_384;
const MAX_HEADERS_BYTES = 16_384;
/** Node leaves further ones out. */
const MAX_HEADERS = 2_000;
/** Of each header, beside its name and value: a colon, a space, and the end of its line. */
const HEADER_OVERHEAD_BYTES = 4;

export const HEADERS_TOO_LARGE = { status: 431, message: 'The headers are too large. Send fewer, or shorter ones.' };

/** Throws `invalid_request`: 400 for the address, 431 for the headers. */
export function checkHead(url: string, rawHeaders: readonly string[]): void {
  if (url.length > MAX_URL_LENGTH) {
    throw new ApiError('invalid_request', {
      status: 400,
      message: `The path and query are ${url.length} characters long; ${MAX_URL_LENGTH} are taken. Send less.`,
    });
  }
  let bytes = 0;
  for (const text of rawHeaders) bytes += text.length;
  bytes += (rawHeaders.length / 2) * HEADER_OVERHEAD_BYTES;
  if (bytes > MAX_HEADERS_BYTES || rawHeaders.length >= 2 * MAX_HEADERS) {
    throw new ApiError('invalid_request', HEADERS_TOO_LARGE);
  }
}
