/** What smiths remember: working memory, the facts in it, and recall of what was said. */
export { MAX_MEMORY_CHARS } from './facts.ts';
export { createMemory, type Memory } from './memory.ts';
export type { MemoryOwner } from './owner.ts';
export { removePassages } from './passage-store.ts';
