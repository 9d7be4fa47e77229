/** The content codings of replies (RFC 9110, 8.4.1), undone as the bytes come. */
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, constants as zlib } from 'node:zlib';
import { OutboundError } from './outbound-error.ts';

/** Each piece is given out as soon as it can be decoded, for a reply may be a stream of events. */
const INFLATE = { flush: zlib.Z_SYNC_FLUSH, finishFlush: zlib.Z_SYNC_FLUSH };
const BROTLI = { flush: zlib.BROTLI_OPERATION_FLUSH, finishFlush: zlib.BROTLI_OPERATION_FLUSH };

/** `coding`: the reply’s `content-encoding`. Throws `OutboundError`, with the connection closed, for one that is unknown. */
export function decodeBody(body: Readable, coding: string | string[] | undefined): Readable {
  if (coding === undefined) return body;
  const codings = [coding].flat().join(',').toLowerCase().split(',');
  return codings
    .map((each) => each.trim())
    .filter((each) => each !== '' && each !== 'identity')
    .reduceRight((from, each) => {
      const decoder = createDecoder(each);
      if (decoder === undefined) {
        discard(body);
        throw new OutboundError('bad_response', `the server answers in an unknown content coding`);
      }
      return pipeline(from, decoder, () => {});
    }, body);
}

function createDecoder(coding: string) {
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip(INFLATE);
    case 'deflate':
      return createInflate(INFLATE);
    case 'br':
      return createBrotliDecompress(BROTLI);
    default:
      return undefined;
  }
}

/** Closes the connection. That the body is not read to its end is no failure here. */
export function discard(body: Readable): void {
  body.on('error', () => {});
  body.destroy();
}
