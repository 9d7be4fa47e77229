/**
 * Models behind one port. The turn engine opens a model by its id (`openModel`), calls it (`callModel`), and
 * asks what the call cost (`priceUsage`). Nothing is loaded by the import: a provider's package comes with its first
 * model, the price data with the first question about the catalogue.
 */

export {
  callEmbeddingModel,
  type EmbeddingCall,
  type EmbeddingCallResult,
} from './call-embedding-model.ts';
export {
  callModel,
  DEFAULT_MODEL_CALL_LIMITS,
  type ModelCall,
  type ModelCallLimits,
  type RetryNotice,
} from './call-model.ts';
export {
  DEFAULT_CONTEXT_WINDOW,
  DEMO_CONTEXT_WINDOW,
  DEMO_MODEL_ID,
  findModel,
  listModels,
  type ModelInfo,
  parseModelId,
} from './catalogue.ts';
export type { ChatModel } from './chat-model.ts';
export {
  type ContextSection,
  findSections,
  MEMORY_TAG,
  RESULT_FILES_TEXT,
  SEARCH_RESULTS_TAG,
  type SectionTag,
  stripSections,
  wrapSection,
} from './context-sections.ts';
export type { ModelCredentials, WaysOut } from './endpoint.ts';
export { ModelCallError, type ModelCallErrorDetail, type ModelCallErrorKind } from './model-call-error.ts';
export { type ModelRef, splitModelId } from './model-id.ts';
export { BUILTIN_EMBED_MODEL, openEmbeddingModel, parseEmbeddingModelId } from './open-embedding-model.ts';
export { openModel } from './open-model.ts';
export { type PricedUsage, priceUsage } from './price-usage.ts';
export { isKnownProvider, listProviders, type ProviderInfo, providerInfo } from './providers.ts';
export {
  isReasoningEffort,
  REASONING_EFFORTS,
  type ReasoningEffort,
  reasoningOptions,
  supportsReasoningEffort,
} from './reasoning.ts';
export {
  createProviderAccessFinder,
  findModelKey,
  loadModelKeys,
  modelKeyContext,
  type ProviderAccess,
  type ProviderAccessFinder,
  type StoredModelKey,
} from './stored-model-key.ts';
export { estimatePromptTokens, estimateTokens, PieceByPieceEstimate, TokenCounter } from './tokens.ts';
