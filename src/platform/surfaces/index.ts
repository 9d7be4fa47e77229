/** The front door of the surfaces: how whoever starts, follows, pauses, resumes and answers turns does it. */
export { type BegunSegment, findBegun, type PauseAnswer, resumeTurn, startTurn } from './begin-segment.ts';
export { type Citation, type CollectedAnswer, collectAnswer, findCitationsOf, STEP_GAP } from './collect-answer.ts';
export { findRunByApproval, findRunByCalls, type WaitingCall, type WaitingPlace } from './find-waiting-run.ts';
export {
  type Answered,
  type AnswerReader,
  type FunctionCall,
  type PendingApproval,
  readAnswer,
} from './read-answer.ts';
export { isOver, newestSegment, requireSegment, type Segment, segmentOf, type Usage } from './segment.ts';
export { claimKey, UNCHANGED_SETTINGS } from './turn-of-own.ts';
export { waitForRest } from './wait-for-rest.ts';
