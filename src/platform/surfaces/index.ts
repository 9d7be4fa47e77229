/** The front door of the surfaces: how turns are started, followed, paused, resumed and answered. */
export { type BegunSegment, findBegun, resumeTurn, startTurn } from './begin-segment.ts';
export { AnswerText, collectAnswer, STEP_GAP } from './collect-answer.ts';
export { findRunByCalls } from './find-waiting-run.ts';
export { readAnswer } from './read-answer.ts';
export { newestSegment, requireSegment, type Segment } from './segment.ts';
export { createTurnLine, type SmithPlace, type TurnLine } from './turn-line.ts';
export { claimKey, UNCHANGED_SETTINGS } from './turn-of-own.ts';
export { waitForRest } from './wait-for-rest.ts';
