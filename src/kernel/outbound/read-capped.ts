import { OutboundError } from './outbound-error.ts';

/**
 * The whole body, decoded, of at most `maxBytes`. Past that the connection is closed and `OutboundError` (`too_large`)
 * thrown, so a server that never ends costs no memory.
 */
export async function readCapped(response: Response, maxBytes: number): Promise<Uint8Array> {
  const { body } = response;
  if (body === null) return new Uint8Array(0);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop early cancels the stream.
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new OutboundError('too_large', `the server answered with more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}
