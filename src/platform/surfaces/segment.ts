/**
 * A segment of a run: from its start, or from what answered a pause, to where it next rests. Each request that starts or
 * resumes a turn begins one, and is answered with what happens in it, however often it is repeated and whatever the run
 * does later.
 */
import type { RunRow } from '../engine/index.ts';

export interface Segment {
  readonly run: RunRow;
  /** 1 for the run's start, one more for each pause that was answered. */
  readonly number: number;
  /** The last frame before it; nothing up to there is the segment's. */
  readonly after: number;
  /** What the run had used by then. */
  readonly usedBefore: Usage;
  /** When the run came to where it begins. */
  readonly from: Date;
}

/** Cached tokens are among the input tokens, those of reasoning among the output tokens. */
export interface Usage {
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

/** What a run has used, as its rows, pauses and frames say it; those of before lack the parts. */
export interface CountedUsage {
  readonly input_tokens?: number;
  readonly cached_input_tokens?: number;
  readonly output_tokens?: number;
  readonly reasoning_tokens?: number;
}

const NOTHING: Usage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 };

/** What was used beyond `before`. */
export function usedSince(before: Usage, counted: CountedUsage): Usage {
  return {
    inputTokens: (counted.input_tokens ?? 0) - before.inputTokens,
    cachedInputTokens: (counted.cached_input_tokens ?? 0) - before.cachedInputTokens,
    outputTokens: (counted.output_tokens ?? 0) - before.outputTokens,
    reasoningTokens: (counted.reasoning_tokens ?? 0) - before.reasoningTokens,
  };
}

/** `run.started`, whose content the row has. */
const FIRST_FRAME = 1;

/** Undefined where the run has not come so far. */
export function segmentOf(run: RunRow, number: number): Segment | undefined {
  if (number === 1) {
    return { run, number, after: FIRST_FRAME, usedBefore: NOTHING, from: run.created_at };
  }
  const pause = run.pauses[number - 2];
  if (pause === undefined || pause.seq === null) return undefined;
  return { run, number, after: pause.seq, usedBefore: usedSince(NOTHING, pause), from: new Date(pause.at) };
}

/** The one that the run is in, or rests at the end of. */
export function newestSegment(run: RunRow): Segment {
  return requireSegment(run, run.pauses.length + 1);
}

export function requireSegment(run: RunRow, number: number): Segment {
  const segment = segmentOf(run, number);
  if (segment === undefined) throw new Error(`Run ${run.id} has no segment ${number}`);
  return segment;
}

/** Whether the run, as its row was read, had left the segment or rested at its end. */
export function isOver({ run, number }: Segment): boolean {
  return run.pauses.length >= number || run.status !== 'in_progress';
}
