/** The front door of the surfaces: how whoever starts, follows, pauses, resumes and answers turns does it. */
export { type BegunSegment, findBegun, resumeTurn, startTurn } from './begin-segment.ts';
export { collectAnswer } from './collect-answer.ts';
export { findRunByCalls } from './find-waiting-run.ts';

export { claimKey, UNCHANGED_SETTINGS } from './turn-of-own.ts';
export { waitForRest } from './wait-for-rest.ts';
