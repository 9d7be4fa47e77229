/** What a ranking of chunks is asked, and the limits that it works within. */
import type { AttributeFilter } from './attribute-filter.ts';

/** Which of the stores' files count. Files that are not completed never do. */
export type FileChoice =
  | { readonly kind: 'all' }
  | { readonly kind: 'ids'; readonly fileIds: readonly string[] }
  | { readonly kind: 'filter'; readonly filter: AttributeFilter };

/**
 * How the chunks are gone through, by their number:
 *
 *   every    few: each one is scored on both scales
 *   compare  more: the nearest by comparing every vector, words by their index
 *   index    many: the nearest by the index of vectors, words by theirs
 */
export type ScanMethod = 'every' | 'compare' | 'index';

export interface RankRequest {
  readonly projectId: string;
  /** Live stores of one embedding model. */
  readonly storeIds: readonly string[];
  readonly files: FileChoice;
  /** Chunks of these files. */
  readonly chunkCount: number;
  /** Chunks of all completed files of the stores. */
  readonly totalChunks: number;
  readonly method: ScanMethod;
  /** Undefined: words alone. */
  readonly vector: Float32Array | undefined;
  /** Lexemes of the query. None: meaning alone. */
  readonly words: readonly string[];
  readonly embeddingWeight: number;
  readonly textWeight: number;
  /** Rows wanted. */
  readonly depth: number;
}

export interface RankedChunk {
  readonly vector_store_id: string;
  readonly file_id: string;
  readonly position: number;
  readonly score: number;
}

export interface RankedRow extends RankedChunk {
  /** How many chunks the index of vectors yielded; null where it was not asked. */
  readonly near: number | null;
}

/** Pages up to this depth come from pools of one size, so that the pages of a search fit together. */
const SHALLOW_DEPTH = 101;
const SHALLOW_POOL = 150;
const DEEP_POOL = 1200;

/** Chunks that each half of a search brings where not every chunk is scored. */
export function poolSize(depth: number): number {
  return depth <= SHALLOW_DEPTH ? SHALLOW_POOL : DEEP_POOL;
}

/** Lengths of vectors for which a server store has an index. */
export const INDEXED_DIMENSIONS: readonly number[] = [384, 512, 768, 1024, 1536, 3072];
