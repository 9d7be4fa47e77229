/** A file of a bundle, in memory. */
import { createHash } from 'node:crypto';
import { ApiError } from '../../../../kernel/http/errors.ts';

/** Large files lie in blocks, so that nothing works on all of one at a time. */
const BLOCK_BYTES = 64 * 1024;

export interface CollectedBytes {
  readonly blocks: readonly Uint8Array[];
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

export interface BundleFile extends CollectedBytes {
  /** From the folder of SKILL.md, with slashes. */
  readonly path: string;
}

/**
 * Everything that the source has, copied: a piece of the wire keeps the whole buffer that it came in. `onBlock` is told of
 * each block before it is made, and may throw.
 */
export async function collectBytes(
  source: AsyncIterable<Uint8Array>,
  onBlock: (bytes: number) => void,
): Promise<CollectedBytes> {
  const hash = createHash('sha256');
  const blocks: Uint8Array[] = [];
  let last = new Uint8Array(0);
  let used = 0;
  let bytes = 0;
  for await (const chunk of source) {
    hash.update(chunk);
    bytes += chunk.byteLength;
    for (let at = 0; at < chunk.byteLength; ) {
      if (used === last.byteLength) {
        onBlock(BLOCK_BYTES);
        last = new Uint8Array(BLOCK_BYTES);
        used = 0;
        blocks.push(last);
      }
      const piece = chunk.subarray(at, at + last.byteLength - used);
      last.set(piece, used);
      used += piece.byteLength;
      at += piece.byteLength;
    }
  }
  if (used < last.byteLength) blocks[blocks.length - 1] = last.slice(0, used);
  return { blocks, bytes, sha256: hash.digest('hex') };
}

export function invalidBundle(message: string): ApiError {
  return new ApiError('invalid_bundle', { param: 'files', message });
}

export function tooLargeBundle(message: string): ApiError {
  return new ApiError('payload_too_large', { param: 'files', message });
}
