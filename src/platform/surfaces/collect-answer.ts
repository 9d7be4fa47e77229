/** What a run answers in one segment, in one piece, for whoever shows nothing before the end. */

import { type Engine, getRun } from '../engine/index.ts';
import { tenantDb } from '../store/tenant-db.ts';
import { type Answered, type AnswerReader, readAnswer } from './read-answer.ts';
import type { Segment } from './segment.ts';

/** Between what the model said before and after calls that the server ran. */
export const STEP_GAP = '\n\n';

export interface CollectedAnswer extends Answered {
  readonly text: string;
  readonly reasoning: string;
  readonly citations: readonly Citation[];
}

/** A file that a piece of the text rests on. */
export interface Citation {
  /** Where the mark of it stands in the text. */
  readonly start: number;
  readonly end: number;
  readonly fileId: string;
  readonly filename: string;
}

/**
 * Resolves when the segment is over; undefined when `signal` has fired before. `said` has what was said so far, for whoever
 * looks meanwhile. Throws what `readAnswer` does.
 */
export async function collectAnswer(
  engine: Engine,
  segment: Segment,
  signal: AbortSignal,
  said = new AnswerText(),
): Promise<CollectedAnswer | undefined> {
  const answered = await readAnswer(engine, segment, said, signal);
  if (answered === undefined) return undefined;
  const { text, reasoning } = said;
  return { ...answered, text, reasoning, citations: await findCitationsOf(engine, segment, answered, text) };
}

/** Those in a text at whose end the run's own answer stands. */
export async function findCitationsOf(
  { db }: Engine,
  { run }: Segment,
  answered: Answered,
  text: string,
): Promise<Citation[]> {
  if (answered.status !== 'completed' || run.config.file_search == null) return [];
  const { output } = await getRun(tenantDb(db, run.project_id), run.id);
  const content = String(output?.content ?? '');
  const annotations = (output?.annotations ?? []) as { index: number; file_id: string; filename: string }[];
  const offset = text.length - content.length;
  return annotations.map(({ index, file_id: fileId, filename }) => ({
    start: offset + index,
    end: offset + content.indexOf('】', index) + 1,
    fileId,
    filename,
  }));
}

/** Keeps what was said step by step, so that a step which is made again leaves nothing behind. */
export class AnswerText implements AnswerReader {
  readonly behind = false;
  readonly #text = new Map<number, string>();
  readonly #reasoning = new Map<number, string>();

  get text(): string {
    return [...this.#text.values()].join(STEP_GAP);
  }

  get reasoning(): string {
    return [...this.#reasoning.values()].join(STEP_GAP);
  }

  showText(text: string, step: number): void {
    this.#text.set(step, (this.#text.get(step) ?? '') + text);
  }

  showReasoning(text: string, step: number): void {
    this.#reasoning.set(step, (this.#reasoning.get(step) ?? '') + text);
  }

  restartFrom(step: number): void {
    for (const pieces of [this.#text, this.#reasoning]) {
      for (const later of [...pieces.keys()]) if (later >= step) pieces.delete(later);
    }
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }
}
