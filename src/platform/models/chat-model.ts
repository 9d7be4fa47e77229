import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { OpenedModel } from './model-identity.ts';

/** The parts of one answer, several at a time where several came together. */
export interface PartSource {
  /** The next parts, at least one; undefined at the end. Throws what the provider's package, or the network, throws. */
  read(): Promise<readonly LanguageModelV4StreamPart[] | undefined>;
  /** Reads what comes after a finished answer, so that its connection can be used again. Never rejects. */
  drain(): Promise<void>;
  /** Gives the rest up and closes the connection. A pending `read` ends. */
  cancel(): void;
}

/** A model as the engine calls it, whatever speaks to its provider. */
export interface ChatModel extends OpenedModel {
  /**
   * Sends one request, which `options.abortSignal` ends. `buffered`: the answer in one piece, for a fraction of a
   * stream's work.
   */
  ask(options: LanguageModelV4CallOptions, buffered: boolean): Promise<PartSource>;
}
