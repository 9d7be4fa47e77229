/**
 * A completion as server-sent chunks: the role, what the model says as it says it, the calls for the client, how it
 * ended, the usage if asked for, `[DONE]`. A stream that cannot be finished ends with an error in place of what is left:
 * the dialect's clients throw on it.
 */
import { ApiError, errorBody } from '../../../../kernel/http/errors.ts';
import { type EventSink, EventStream, eventFrame } from '../../../../kernel/http/event-stream.ts';
import { refusalFor } from '../../../../kernel/http/storage-faults.ts';
import type { Engine } from '../../../engine/index.ts';
import { platformErrors } from '../../../errors.ts';
import { findCitationsOf, STEP_GAP } from '../../collect-answer.ts';
import { type Answered, type AnswerReader, readAnswer } from '../../read-answer.ts';
import type { Segment } from '../../segment.ts';
import {
  describeApprovals,
  headOf,
  renderAnnotations,
  renderCall,
  renderTurn,
  renderUsage,
} from './render-completion.ts';

interface StreamOptions {
  readonly publicUrl: string;
  readonly includeUsage: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

export function streamCompletion(engine: Engine, segment: Segment, options: StreamOptions): EventStream {
  return new EventStream(
    async (sink, closed) => {
      const chunks = new ChunkWriter(sink, segment, options.includeUsage);
      chunks.open();
      try {
        const answered = await readAnswer(engine, segment, chunks, closed);
        if (answered === undefined) return;
        const citations = await findCitationsOf(engine, segment, answered, chunks.shown);
        const annotations = renderAnnotations(citations, options.publicUrl);
        if (annotations.length > 0) chunks.write({ annotations });
        chunks.close(answered);
      } catch (error) {
        const refusal = refusalFor(error);
        sink.write(eventFrame(undefined, JSON.stringify(errorBody(platformErrors, refusal))));
        if (refusal !== error) throw error;
      }
    },
    200,
    options.headers,
  );
}

class ChunkWriter implements AnswerReader {
  readonly #sink: EventSink;
  readonly #segment: Segment;
  readonly #includeUsage: boolean;
  /** Every chunk up to its choices: the same for all. */
  readonly #head: string;
  /** Of a chunk with text, as `write` would make it: nearly all are such. */
  readonly #beforeText: string;
  readonly #behindText: string;
  /** The text so far. */
  shown = '';
  #textStep = -1;
  #thoughtStep = -1;

  constructor(sink: EventSink, segment: Segment, includeUsage: boolean) {
    this.#sink = sink;
    this.#segment = segment;
    this.#includeUsage = includeUsage;
    const { id, created, model } = headOf(segment);
    this.#head = JSON.stringify({ id, object: 'chat.completion.chunk', created, model }).slice(0, -1);
    this.#beforeText = `${this.#head},"choices":[{"index":0,"delta":{"content":`;
    this.#behindText = `},"logprobs":null,"finish_reason":null}]${includeUsage ? ',"usage":null' : ''}}`;
  }

  get behind(): boolean {
    return this.#sink.behind;
  }

  drained(): Promise<void> {
    return this.#sink.drained();
  }

  open(): void {
    this.write({ role: 'assistant', content: '', refusal: null });
  }

  showText(text: string, step: number): void {
    const gap = this.#textStep !== step && this.shown !== '' ? STEP_GAP : '';
    this.#textStep = step;
    this.shown += gap + text;
    this.#sink.write(eventFrame(undefined, this.#beforeText + JSON.stringify(gap + text) + this.#behindText));
  }

  showReasoning(text: string, step: number): void {
    const gap = this.#thoughtStep !== step && this.#thoughtStep >= 0 ? STEP_GAP : '';
    this.#thoughtStep = step;
    this.write({ reasoning_content: gap + text });
  }

  /** What was streamed cannot be taken back. */
  restartFrom(step: number): void {
    if (this.#textStep < step && this.#thoughtStep < step) return;
    throw new ApiError('service_overloaded', {
      message:
        'The server that answered went away, and what it was saying is said again. Read the run, or repeat the request ' +
        'with its `Idempotency-Key`; without a key it starts another turn.',
    });
  }

  close(answered: Answered): void {
    const { run } = this.#segment;
    const waiting = describeApprovals(answered);
    if (waiting !== undefined) this.showText(waiting, Number.POSITIVE_INFINITY);
    if (answered.refusal !== null) this.write({ refusal: answered.refusal });
    for (const [index, call] of answered.calls.entries()) {
      const { id, type, function: called } = renderCall(call);
      this.write({ tool_calls: [{ index, id, type, function: { name: called.name, arguments: '' } }] });
      this.write({ tool_calls: [{ index, function: { arguments: called.arguments } }] });
    }
    this.write({}, answered.finishReason, { ironcraft: renderTurn(run, answered) });
    if (this.#includeUsage) this.#send('[]', { usage: renderUsage(answered.usage) });
    this.#sink.write(eventFrame(undefined, '[DONE]'));
  }

  write(delta: object, finishReason: string | null = null, more: object = {}): void {
    const choice = { index: 0, delta, logprobs: null, finish_reason: finishReason };
    this.#send(JSON.stringify([choice]), this.#includeUsage ? { ...more, usage: null } : more);
  }

  #send(choices: string, more: object): void {
    const rest = JSON.stringify(more).slice(1);
    const end = rest === '}' ? rest : `,${rest}`;
    this.#sink.write(eventFrame(undefined, `${this.#head},"choices":${choices}${end}`));
  }
}
