/** Which way of going through the chunks is the cheapest; figures in docs/decisions/0005-hybrid-search.md. */
import { INDEXED_DIMENSIONS, poolSize, type ScanMethod } from './rank-request.ts';

/** Up to so many chunks each one is scored on both scales. */
const MAX_EVERY = 2000;
/** Below this the index of vectors is not even asked for its size. */
const MIN_INDEX = 5000;
/** What one step through the index costs, in comparisons with a vector read from the table. */
const INDEX_STEP_COST = 35;

/** Whether the index could be worth it, and its size worth reading. */
export function mayUseIndex(chunkCount: number, dimensions: number | undefined): boolean {
  return dimensions !== undefined && chunkCount > MIN_INDEX && INDEXED_DIMENSIONS.includes(dimensions);
}

/**
 * `indexed`: vectors in the index, of all tenants; undefined: there is none. A share of `chunkCount / indexed` of what the
 * index yields counts, so that it has to yield `pool · indexed / chunkCount` for a pool.
 */
export function chooseMethod(chunkCount: number, indexed: number | undefined, depth: number): ScanMethod {
  if (chunkCount <= MAX_EVERY) return 'every';
  if (indexed === undefined || chunkCount <= MIN_INDEX) return 'compare';
  const steps = (poolSize(depth) * Math.max(indexed, chunkCount)) / chunkCount;
  return steps * INDEX_STEP_COST < chunkCount ? 'index' : 'compare';
}
