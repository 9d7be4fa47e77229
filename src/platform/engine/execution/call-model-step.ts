/** One model call of a turn: the prompt out, the deltas to the readers, the answer collected. */
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { sleep } from '../../../kernel/clock/timers.ts';
import { type ChatModel, callModel, estimatePromptTokens, type ModelCallLimits } from '../../models/index.ts';
import { type LiveTurn, MAX_UNFLUSHED_FRAMES } from '../timeline/live-turn.ts';
import { FLUSH_INTERVAL_MS } from '../timeline/timeline-writer.ts';
import { type AskedModel, callOptions, functionTools } from './call-options.ts';
import {
  AnswerCollector,
  estimateOutput,
  type ModelAnswer,
  type PartialAnswer,
  type StepUsage,
} from './collect-answer.ts';
import { WholeCharacters } from './whole-characters.ts';

export interface ModelStep extends AskedModel {
  readonly model: ChatModel;
  readonly step: number;
  /** Call ids that earlier steps of the run used: providers may count from zero in each answer. */
  readonly usedCallIds: ReadonlySet<string>;
  readonly flush: () => Promise<void>;
  readonly limits: Partial<ModelCallLimits> | undefined;
  /** Nobody reads along: the model may be asked for a buffered answer. */
  readonly buffered: boolean;
  /** Grows while the answer arrives, so that a cut-off call can be accounted for. */
  readonly partial: PartialAnswer;
}

/** Throws ModelCallError, or the abort's reason. */
export async function callModelStep(live: LiveTurn, step: ModelStep): Promise<ModelAnswer> {
  const collector = new AnswerCollector(step.usedCallIds, step.partial);
  const texts = new WholeCharacters();
  const thoughts = new WholeCharacters();
  const showText = (id: string, text: string) => {
    if (text === '') return;
    collector.addText(id, text);
    live.emitText('message.delta', text, step.step);
  };
  const showReasoning = (id: string, text: string) => {
    if (text === '') return;
    collector.addReasoning(id, text);
    live.emitText('reasoning', text, step.step);
  };
  const take = (part: LanguageModelV4StreamPart) => {
    switch (part.type) {
      case 'text-delta':
        return showText(part.id, texts.join(part.id, part.delta));
      case 'text-end':
        return showText(part.id, texts.end(part.id));
      case 'reasoning-delta':
        return showReasoning(part.id, thoughts.join(part.id, part.delta));
      case 'reasoning-end':
        showReasoning(part.id, thoughts.end(part.id));
        return collector.endReasoning(part.id, part.providerMetadata as never);
      case 'tool-input-delta':
        return collector.addInput(part.id, part.delta);
      case 'tool-call':
        return collector.addCall(part);
      case 'stream-start':
        return collector.addWarnings(part.warnings);
      case 'finish':
        return collector.finish(part.finishReason.unified, part.usage);
      default:
        return;
    }
  };
  const takeWithPauses = async (parts: readonly LanguageModelV4StreamPart[]) => {
    await makeRoom(live, step.flush);
    for (const part of parts) {
      take(part);
      if (live.unflushedCount > MAX_UNFLUSHED_FRAMES) await makeRoom(live, step.flush);
    }
  };
  const options = callOptions(step);
  const { model, limits, buffered } = step;
  await callModel({ model, options, signal: live.abort.signal, limits, buffered }, (parts) => {
    for (const [index, part] of parts.entries()) {
      take(part);
      if (live.unflushedCount > MAX_UNFLUSHED_FRAMES) return takeWithPauses(parts.slice(index + 1));
    }
    return undefined;
  });
  return collector.answer(estimatePromptTokens(step.prompt, options.tools));
}

/** Waits until the store has taken frames: while it is away, the model is not read on, so that they do not pile up. */
async function makeRoom(live: LiveTurn, flush: () => Promise<void>): Promise<void> {
  await flush();
  while (live.unflushedCount > MAX_UNFLUSHED_FRAMES) {
    await sleep(FLUSH_INTERVAL_MS, live.abort.signal);
    await flush();
  }
}

/** What a cut-off call is taken to have used: providers do not say. */
export function estimateUsage(step: Pick<ModelStep, 'prompt' | 'tools' | 'partial'>): StepUsage {
  return {
    inputTokens: estimatePromptTokens(step.prompt, functionTools(step.tools)),
    outputTokens: estimateOutput(step.partial),
  };
}
