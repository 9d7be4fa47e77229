/** The front door of the engine: what the rest of the platform may know of turns. */
export { cancelTurn } from './commands/cancel-turn.ts';
export { type CreatedTurn, createTurn } from './commands/create-turn.ts';
export { type Submission, submitToTurn } from './commands/submit-to-turn.ts';
export { createEngine, type Engine } from './engine.ts';
export { createModelOpener } from './execution/open-turn-model.ts';
export type { AttachedFile, FileReader, TurnFiles } from './input/attached-files.ts';
export { MAX_THREAD_ID_CHARS } from './input/check-thread-id.ts';
export { isToolless } from './input/is-toolless.ts';
export { type InputMessage, type PastCall, parseInput } from './input/parse-input.ts';
export { parseResponseFormat } from './input/parse-response-format.ts';
export { getRun, waitForRest } from './store/get-run.ts';
export { loadSmithForTurn, type SmithForTurn } from './store/load-smith-turn.ts';
export { type RunRow, renderUsage } from './store/run-row.ts';
export { readTurnConfig } from './store/stored-config.ts';
export type { FrameSink } from './timeline/follow-timeline.ts';
export { LiveTurn, ShownFrame, showStoredFrame, wireFrame } from './timeline/live-turn.ts';
export { readFrames } from './timeline/read-timeline.ts';
export { type ClientTool, isSettled, type ResponseFormat, type ToolChoice, type TurnSettings } from './turn.ts';
