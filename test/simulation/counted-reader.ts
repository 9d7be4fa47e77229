/** A document reader that several replicas share: what one of them reads of a file is one effect, which changes nothing. */
import type { DocumentChunk, DocumentReader } from '../../src/platform/knowledge/read/index.ts';
import type { Effects } from './effects.ts';

export function countReader(reader: DocumentReader, effects: Effects): DocumentReader {
  return {
    async *chunks(project, { began, ...source }, chunking, signal) {
      // It may be marked before, which is an effect of its own.
      await began?.();
      const batches = await effects.perform({ label: 'read a document', isChange: false }, async () => {
        const read: (readonly DocumentChunk[])[] = [];
        for await (const chunks of reader.chunks(project, source, chunking, signal)) read.push(chunks);
        return read;
      });
      yield* batches;
    },
    close: async () => undefined,
  };
}
