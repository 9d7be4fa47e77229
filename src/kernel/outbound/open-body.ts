/** The body of a reply as a stream of Node's, for who stores it. */
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';

/** It may break before it is read, while a place for it is being made: its reader is told, whenever that comes. */
export function openBody(body: NonNullable<Response['body']>): Readable {
  // With no listener an error of it would end the process.
  return Readable.fromWeb(body as ReadableStream<Uint8Array>).on('error', () => undefined);
}
