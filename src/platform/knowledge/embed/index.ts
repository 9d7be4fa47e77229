/**
 * Text into vectors behind one port. `builtin/embed` runs on this server without a key; every other model is
 * `provider/model` and is reached with the project's model key.
 */

import type { Database } from '../../../kernel/db/database.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';

export const BUILTIN_EMBED_MODEL = 'builtin/embed';

export interface EmbedOptions {
  readonly signal?: AbortSignal;
  /** Length of the vectors, where the model lets the caller choose. */
  readonly dimensions?: number;
}

export interface EmbedResult {
  /** One a text, in order, of unit length. */
  readonly vectors: readonly Float32Array[];
  readonly tokens: number;
}

export interface Embedder {
  /** `provider/model` in full. */
  readonly model: string;
  /** Throws `embedding_unavailable` when the model cannot run or refuses. */
  embed(texts: readonly string[], options?: EmbedOptions): Promise<EmbedResult>;
}

export interface Embedders {
  /** Throws `embedding_unavailable`, `model_key_missing`, `unknown_provider`. `smithId` names whose own key goes first. */
  open(projectId: string, modelId: string, smithId?: string | null): Promise<Embedder>;
  close(): Promise<void>;
}

export interface EmbeddersParts {
  readonly db: Database;
  readonly vault: Vault;
  readonly outbound: Outbound;
  /** Whether a tenant's base URL may be a private address. */
  readonly allowPrivate: boolean;
}

export function createEmbedders(_parts: EmbeddersParts): Embedders {
  return {
    open: () => Promise.reject(new Error('not there yet')),
    close: () => Promise.resolve(),
  };
}
