/** What the OpenAI-compatible surfaces have in common: whom a request is for, and what it sets for its turn. */
export { chooseModel } from './choose-model.ts';
export { readReasoningEffort, readResponseFormat } from './parse-answer-options.ts';
export { type ParsedTools, parseTools, requireStores } from './parse-tools.ts';
export {
  type ResolvedSmith,
  resolveSmith,
  resolveSmithForTurn,
  type SmithQuestion,
  type SmithStore,
} from './resolve-smith.ts';
