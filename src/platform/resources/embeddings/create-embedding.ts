import { endianness } from 'node:os';
import type { ProjectRead } from '../../access/operation.ts';
import { BUILTIN_EMBED_MODEL, type Embedders } from '../../knowledge/embed/index.ts';
import { readInputs } from './read-inputs.ts';
import type { EmbeddingIn, EmbeddingList } from './schema.ts';

export interface EmbeddingDependencies {
  readonly embedders: Embedders;
}

export function createEmbedding({ embedders }: EmbeddingDependencies) {
  return async ({ caller, body, signal }: ProjectRead<{ body: EmbeddingIn }>): Promise<EmbeddingList> => {
    const texts = await readInputs(body.input);
    const smithId = caller.kind === 'smith' ? caller.smithId : null;
    const embedder = await embedders.open(caller.projectId, body.model ?? BUILTIN_EMBED_MODEL, smithId);
    const dimensions = body.dimensions ?? undefined;
    const options = { signal, ...(dimensions === undefined ? {} : { dimensions }) };
    const { vectors, tokens } = await embedder.embed(texts, options);
    const encode = body.encoding_format === 'base64' ? encodeBase64 : encodeNumbers;
    return {
      object: 'list',
      data: vectors.map((vector, index) => ({ object: 'embedding', index, embedding: encode(vector) })),
      model: embedder.model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    };
  };
}

function encodeNumbers(vector: Float32Array): number[] {
  return Array.from(vector);
}

/** Little-endian, as the dialect has it on every machine. */
function encodeBase64(vector: Float32Array): string {
  const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
  return (endianness() === 'LE' ? bytes : Buffer.from(bytes).swap32()).toString('base64');
}
