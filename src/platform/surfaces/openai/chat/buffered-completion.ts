/** A completion in one piece. */
import { ApiError } from '../../../../kernel/http/errors.ts';
import { HttpReply } from '../../../../kernel/http/operation.ts';
import { type Engine, getRun } from '../../../engine/index.ts';
import { type AnswerReader, readAnswer, type Stretch } from '../../read-answer.ts';
import {
  type ChatCompletion,
  describeApprovals,
  headersOf,
  headOf,
  renderAnnotations,
  renderCall,
  renderTurn,
  renderUsage,
  STEP_GAP,
} from './render-completion.ts';

/** Waits until the run rests. Throws what the run failed with; the error names the run as an answer does. */
export async function answerWhole(
  engine: Engine,
  stretch: Stretch,
  options: { readonly publicUrl: string; readonly signal: AbortSignal },
): Promise<HttpReply<ChatCompletion>> {
  const { run } = stretch;
  const headers = headersOf(run);
  const said = new SaidText();
  const answered = await readAnswer(engine, stretch, said, options.signal).catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error;
    throw new ApiError(error.code, { ...error.detail, headers: { ...error.detail.headers, ...headers } });
  });
  // Nobody reads it: the caller has gone, and the run goes on.
  if (answered === undefined) throw new ApiError('service_overloaded');
  const shown = [said.text, describeApprovals(answered) ?? ''].filter((text) => text !== '').join(STEP_GAP);
  const citable = answered.status === 'completed' && run.config.file_search != null;
  const output = citable ? (await getRun(engine.db, run.project_id, run.id)).output : null;
  const annotations = renderAnnotations(output, said.text, options.publicUrl);
  const hasNoContent = shown === '' && (answered.calls.length > 0 || answered.refusal !== null);
  const completion: ChatCompletion = {
    ...headOf(stretch),
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: hasNoContent ? null : shown,
          refusal: answered.refusal,
          ...(said.thoughts === '' ? {} : { reasoning_content: said.thoughts }),
          ...(answered.calls.length === 0 ? {} : { tool_calls: answered.calls.map(renderCall) }),
          ...(annotations.length === 0 ? {} : { annotations }),
        },
        logprobs: null,
        finish_reason: answered.finishReason,
      },
    ],
    usage: renderUsage(answered.usage),
    ironcraft: renderTurn(run, answered),
  };
  return new HttpReply(200, completion, headers);
}

/** Keeps what was said step by step, so that a step which is made again leaves nothing behind. */
class SaidText implements AnswerReader {
  readonly behind = false;
  readonly #text = new Map<number, string>();
  readonly #thoughts = new Map<number, string>();

  get text(): string {
    return [...this.#text.values()].join(STEP_GAP);
  }

  get thoughts(): string {
    return [...this.#thoughts.values()].join(STEP_GAP);
  }

  showText(text: string, step: number): void {
    this.#text.set(step, (this.#text.get(step) ?? '') + text);
  }

  showReasoning(text: string, step: number): void {
    this.#thoughts.set(step, (this.#thoughts.get(step) ?? '') + text);
  }

  restartFrom(step: number): void {
    for (const pieces of [this.#text, this.#thoughts]) {
      for (const later of [...pieces.keys()]) if (later >= step) pieces.delete(later);
    }
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }
}
