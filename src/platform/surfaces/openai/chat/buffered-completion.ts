/** A completion in one piece. */
import { ApiError } from '../../../../kernel/http/errors.ts';
import { HttpReply } from '../../../../kernel/http/operation.ts';
import type { Engine } from '../../../engine/index.ts';
import { collectAnswer, STEP_GAP } from '../../collect-answer.ts';
import type { Segment } from '../../segment.ts';
import { refuseBegun } from '../refuse-begun.ts';
import {
  type ChatCompletion,
  describeApprovals,
  headOf,
  renderAnnotations,
  renderCall,
  renderTurn,
  renderUsage,
} from './render-completion.ts';

/**
 * Waits until the run rests. Throws what the run failed with; the error has the answer's headers. `isKeyed`: the request has an
 * `Idempotency-Key`.
 */
export async function answerBuffered(
  engine: Engine,
  segment: Segment,
  options: {
    readonly publicUrl: string;
    readonly signal: AbortSignal;
    readonly isKeyed: boolean;
    readonly headers: Readonly<Record<string, string>>;
  },
): Promise<HttpReply<ChatCompletion>> {
  const { run } = segment;
  const { headers } = options;
  const answer = await collectAnswer(engine, segment, options.signal).catch((error: unknown) => {
    const { code, detail } = refuseBegun(error, options);
    throw new ApiError(code, { ...detail, headers: { ...detail.headers, ...headers } });
  });
  // Nobody reads it: the caller has gone, and the run goes on.
  if (answer === undefined) throw new ApiError('service_overloaded');
  const shown = [answer.text, describeApprovals(answer) ?? ''].filter((text) => text !== '').join(STEP_GAP);
  const annotations = renderAnnotations(answer.citations, options.publicUrl);
  const hasNoContent = shown === '' && (answer.calls.length > 0 || answer.refusal !== null);
  const completion: ChatCompletion = {
    ...headOf(segment),
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: hasNoContent ? null : shown,
          refusal: answer.refusal,
          ...(answer.reasoning === '' ? {} : { reasoning_content: answer.reasoning }),
          ...(answer.calls.length === 0 ? {} : { tool_calls: answer.calls.map(renderCall) }),
          ...(annotations.length === 0 ? {} : { annotations }),
        },
        logprobs: null,
        finish_reason: answer.finishReason,
      },
    ],
    usage: renderUsage(answer.usage),
    ironcraft: renderTurn(run, answer),
  };
  return new HttpReply(200, completion, headers);
}
