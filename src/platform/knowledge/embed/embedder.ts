export interface EmbedOptions {
  readonly signal?: AbortSignal;
  /** Length of the vectors, where the model lets the caller choose. */
  readonly dimensions?: number;
  /** Told of the tokens of each call that was answered, also where a later one of the request fails. */
  readonly onTokens?: (tokens: number) => void;
}

export interface EmbedResult {
  /** One a text, in order, of unit length. */
  readonly vectors: readonly Float32Array[];
  readonly tokens: number;
}

export interface Embedder {
  /** `provider/model` in full. */
  readonly model: string;
  /**
   * Any number of texts, each not empty. Throws `embedding_unavailable` when the model cannot run or refuses, `budget_exceeded`,
   * `service_overloaded` when too much is waiting for the built-in one, `invalid_input` for a text that is too long for
   * the provider's model, `invalid_request` (param `dimensions`) where the model has another length, or the signal's
   * reason.
   */
  embed(texts: readonly string[], options?: EmbedOptions): Promise<EmbedResult>;
}
