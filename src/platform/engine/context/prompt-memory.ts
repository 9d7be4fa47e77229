import { estimateTokens, MEMORY_TAG, wrapSection } from '../../models/index.ts';
import type { TurnConfig } from '../turn.ts';

/** Of the model's window, what the smith's memory may take. */
const MEMORY_SHARE = 0.25;
const OMISSION = '\n[…]\n';

/** The smith's memory as a system message; '' where it has none. One that is too long loses its middle. */
export function promptMemory({ memory }: TurnConfig, contextWindow: number): string {
  const content = memory?.content.trim() ?? '';
  if (content === '') return '';
  const limit = Math.floor(contextWindow * MEMORY_SHARE);
  const tokens = estimateTokens(content);
  if (tokens <= limit) return wrapSection(MEMORY_TAG, content);
  // What was written first and what was learnt last.
  const half = Math.floor((content.length * limit) / tokens / 2);
  const shown = content.slice(0, half).toWellFormed() + OMISSION + content.slice(-half).toWellFormed();
  return wrapSection(MEMORY_TAG, shown);
}
