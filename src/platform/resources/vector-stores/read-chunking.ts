import { ApiError } from '../../../kernel/http/errors.ts';
import type { ChunkingStrategyIn } from './schema.ts';

export interface ChunkingTokens {
  readonly chunkTokens: number;
  readonly overlapTokens: number;
}

export const AUTO_CHUNKING: ChunkingTokens = { chunkTokens: 800, overlapTokens: 400 };

/** What the strategy comes to; the fallback where there is none. Throws `invalid_request`; `param` is where it stands. */
export function readChunking(
  strategy: ChunkingStrategyIn | null | undefined,
  fallback: ChunkingTokens,
  param = 'chunking_strategy',
): ChunkingTokens {
  if (strategy == null) return fallback;
  if (strategy.type === 'auto') return AUTO_CHUNKING;
  if (strategy.static === undefined) {
    throw new ApiError('invalid_request', {
      param: `${param}.static`,
      message: `\`${param}.static\` is required where the type is \`static\`.`,
    });
  }
  const { max_chunk_size_tokens: chunkTokens, chunk_overlap_tokens: overlapTokens } = strategy.static;
  if (overlapTokens * 2 > chunkTokens) {
    throw new ApiError('invalid_request', {
      param: `${param}.static.chunk_overlap_tokens`,
      message: `\`${param}.static.chunk_overlap_tokens\` must be at most half of \`max_chunk_size_tokens\`, here ${Math.floor(chunkTokens / 2)}.`,
    });
  }
  return { chunkTokens, overlapTokens };
}
