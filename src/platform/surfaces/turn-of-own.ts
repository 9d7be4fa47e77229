/** What a surface needs that starts turns of its own accord, without a request: a key, and settings that change nothing. */
import { createHash } from 'node:crypto';
import { canonicalJson } from '../../kernel/http/idempotency.ts';
import type { TurnClaim, TurnSettings } from '../engine/index.ts';

/** The smith's own model, instructions and tools. */
export const UNCHANGED_SETTINGS: TurnSettings = {
  overrides: {},
  sampling: { temperature: null, top_p: null, stop: [] },
  answer: { format: { type: 'text' }, reasoning_effort: null, max_output_tokens: null },
  tools: { client: [], choice: 'auto', file_search: null },
};

/**
 * The claim of a key that the surface has of its own: the id of a schedule's firing, of a channel's message. `operation`
 * names what it stands for, in the surface's own words (`schedules.fire`); the same key with other content is refused.
 */
export function claimKey(operation: string, key: string, content: unknown): TurnClaim {
  return { operation, key, fingerprint: createHash('sha256').update(canonicalJson(content)).digest('base64url') };
}
