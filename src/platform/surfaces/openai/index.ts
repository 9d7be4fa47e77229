/** The dialect of OpenAI: whom a request is for, what it sets for its turn, and turns as completions and responses. */
export { answerBuffered } from './chat/buffered-completion.ts';
export { findRunForResults } from './chat/find-run-for-results.ts';
export { answersNothing, type ChatInput, nameMessage, readMessages, type ToolResults } from './chat/read-messages.ts';
export { headersOf } from './chat/render-completion.ts';
export { streamCompletion } from './chat/stream-completion.ts';
export { chooseModel } from './choose-model.ts';
export {
  fileSearchItemId,
  functionCallItemId,
  functionCallOutputItemId,
  inputItemId,
  messageItemId,
  reasoningItemId,
  runOfItem,
} from './item-ids.ts';
export { readReasoningEffort, readResponseFormat } from './parse-answer-options.ts';
export { prepareTools } from './prepare-tools.ts';
export { refuseBegun } from './refuse-begun.ts';
export { readFreshCredentials } from './request-servers.ts';
export { type ResolvedSmith, readSmithAhead, resolveSmith, resolveSmithForTurn } from './resolve-smith.ts';
export { awaitResponse, streamResponse } from './responses/answer-response.ts';
export { listInputItems } from './responses/input-items.ts';
export { planTurn, type TurnPlan } from './responses/plan-turn.ts';
export { invalid, placeError } from './responses/read-input.ts';
export type { OutputItem } from './responses/response-items.ts';
export { describeRequest } from './responses/response-request.ts';
export { beginFold, foldStored, getResponseSegment, responseOf } from './responses/response-segment.ts';
export { findListingRuns, hideRun } from './responses/response-store.ts';
export { checkUnused, checkUnusedInclude, UNUSED_IN_COMPLETIONS, UNUSED_IN_RESPONSES } from './unused-members.ts';
