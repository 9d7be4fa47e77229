import { endianness } from 'node:os';
import { ownIteration } from '../../../kernel/event-loop/own-iteration.ts';
import { WrittenJson } from '../../../kernel/http/operation.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { BUILTIN_EMBED_MODEL, type Embedders } from '../../knowledge/embed/index.ts';
import { readInputs } from './read-inputs.ts';
import type { EmbeddingIn, EmbeddingList } from './schema.ts';

export interface EmbeddingDependencies {
  readonly embedders: Embedders;
}

export function createEmbedding({ embedders }: EmbeddingDependencies) {
  return async ({ caller, body, signal }: ProjectRead<{ body: EmbeddingIn }>): Promise<EmbeddingList | WrittenJson> => {
    const texts = await readInputs(body.input);
    const smithId = caller.kind === 'smith' ? caller.smithId : null;
    const embedder = await embedders.open(caller.projectId, body.model ?? BUILTIN_EMBED_MODEL, {
      smithId,
      tokenId: caller.tokenId,
    });
    const dimensions = body.dimensions ?? undefined;
    const options = { signal, ...(dimensions === undefined ? {} : { dimensions }) };
    const { vectors, tokens } = await embedder.embed(texts, options);
    const isBase64 = body.encoding_format === 'base64';
    if (!isBase64 && countNumbers(vectors) > PIECE_NUMBERS) return writeNumbers(vectors, embedder.model, tokens);
    const encode = isBase64 ? encodeBase64 : encodeNumbers;
    return {
      object: 'list',
      data: vectors.map((vector, index) => ({ object: 'embedding', index, embedding: encode(vector) })),
      model: embedder.model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    };
  };
}

/** Numbers that are written before others get their turn: a few milliseconds. */
const PIECE_NUMBERS = 32_768;

function countNumbers(vectors: readonly Float32Array[]): number {
  return vectors.reduce((sum, { length }) => sum + length, 0);
}

/** An EmbeddingList of any number of numbers. */
async function writeNumbers(vectors: readonly Float32Array[], model: string, tokens: number): Promise<WrittenJson> {
  const pieces: Buffer[] = [];
  let text = '{"object":"list","data":[';
  let numbers = 0;
  for (const [index, vector] of vectors.entries()) {
    const embedding = { object: 'embedding', index, embedding: encodeNumbers(vector) };
    text += `${index === 0 ? '' : ','}${JSON.stringify(embedding)}`;
    numbers += vector.length;
    if (numbers < PIECE_NUMBERS) continue;
    pieces.push(Buffer.from(text));
    text = '';
    numbers = 0;
    await ownIteration();
  }
  const end = JSON.stringify({ model, usage: { prompt_tokens: tokens, total_tokens: tokens } });
  pieces.push(Buffer.from(`${text}],${end.slice(1)}`));
  return new WrittenJson(Buffer.concat(pieces));
}

function encodeNumbers(vector: Float32Array): number[] {
  return Array.from(vector);
}

/** Little-endian, as the dialect has it on every machine. */
function encodeBase64(vector: Float32Array): string {
  const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
  return (endianness() === 'LE' ? bytes : Buffer.from(bytes).swap32()).toString('base64');
}
