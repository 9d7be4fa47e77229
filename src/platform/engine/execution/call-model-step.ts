/** One model call of a turn: the prompt out, the deltas to the readers, the answer collected. */
import { setTimeout as wait } from 'node:timers/promises';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { mintId } from '../../../kernel/ids/ids.ts';
import {
  estimatePromptTokens,
  estimateTokens,
  isReasoningEffort,
  type ModelCallLimits,
  reasoningOptions,
  streamModelCall,
} from '../../models/index.ts';
import type { JsonObject } from '../../tables.ts';
import type { Tool } from '../../tools/tool.ts';
import { type LiveTurn, MAX_UNFLUSHED_FRAMES } from '../timeline/live-turn.ts';
import { FLUSH_INTERVAL_MS } from '../timeline/timeline-writer.ts';
import type { TurnConfig, Warning } from '../turn.ts';
import { TextBuffer } from './text-buffer.ts';

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'];

export interface RequestedCall {
  readonly callId: string;
  readonly name: string;
  readonly args: JsonObject;
  /** What is wrong with the arguments, if they are no JSON object. */
  readonly problem: string | undefined;
}

export interface ModelAnswer {
  readonly text: string;
  readonly content: AssistantContent;
  readonly calls: RequestedCall[];
  readonly finishReason: 'stop' | 'length' | 'content_filter' | 'tool_calls' | 'other';
  readonly usage: StepUsage;
  readonly warnings: Warning[];
}

export interface StepUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
}

export interface ModelStep {
  readonly model: LanguageModelV4;
  readonly config: TurnConfig;
  readonly prompt: LanguageModelV4Prompt;
  readonly tools: readonly Tool[];
  readonly step: number;
  /** Whether the turn has not had an answer yet. */
  readonly isFirst: boolean;
  /** Call ids that earlier steps of the run used: providers may count from zero in each answer. */
  readonly usedCallIds: ReadonlySet<string>;
  readonly flush: () => Promise<void>;
  readonly limits: Partial<ModelCallLimits> | undefined;
  /** Nobody reads along: the answer may come in one piece. */
  readonly buffered: boolean;
  /** Grows while the answer arrives, so that a cut-off call can be accounted for. */
  readonly partial: PartialAnswer;
}

/** What has arrived of an answer. */
export interface PartialAnswer {
  readonly text: TextBuffer;
  readonly reasoning: TextBuffer;
}

export function emptyAnswer(): PartialAnswer {
  return { text: new TextBuffer(), reasoning: new TextBuffer() };
}

/** Throws ModelCallError, or the abort's reason. */
export async function callModelStep(live: LiveTurn, step: ModelStep): Promise<ModelAnswer> {
  const collector = new AnswerCollector(step);
  const halves = new HalfCharacters();
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
  const options = callOptions(step);
  const { model, limits, buffered } = step;
  const parts = streamModelCall({ model, options, signal: live.abort.signal, limits, buffered });
  for await (const part of parts) {
    switch (part.type) {
      case 'text-delta':
        showText(part.id, halves.join(`text/${part.id}`, part.delta));
        break;
      case 'text-end':
        showText(part.id, halves.end(`text/${part.id}`));
        break;
      case 'reasoning-delta':
        showReasoning(part.id, halves.join(`reasoning/${part.id}`, part.delta));
        break;
      case 'reasoning-end':
        showReasoning(part.id, halves.end(`reasoning/${part.id}`));
        collector.endReasoning(part.id, part.providerMetadata as never);
        break;
      case 'tool-call':
        collector.addCall(part);
        break;
      case 'stream-start':
        collector.addWarnings(part.warnings);
        break;
      case 'finish':
        collector.finish(part.finishReason.unified, part.usage);
        break;
      default:
        break;
    }
    if (live.unflushedCount > MAX_UNFLUSHED_FRAMES) await makeRoom(live, step.flush);
  }
  return collector.answer(estimatePromptTokens(step.prompt, options.tools));
}

/** Waits until the store has taken frames: while it is away, the model is not read on, so that they do not pile up. */
async function makeRoom(live: LiveTurn, flush: () => Promise<void>): Promise<void> {
  await flush();
  while (live.unflushedCount > MAX_UNFLUSHED_FRAMES) {
    await wait(FLUSH_INTERVAL_MS, undefined, { signal: live.abort.signal });
    await flush();
  }
}

/** What a cut-off call is taken to have used: providers do not say. */
export function estimateUsage(step: Pick<ModelStep, 'prompt' | 'partial'>): StepUsage {
  return {
    inputTokens: estimatePromptTokens(step.prompt),
    outputTokens: estimateTokens(`${step.partial.text}`) + estimateTokens(`${step.partial.reasoning}`),
  };
}

export function functionTools(tools: readonly Tool[]): LanguageModelV4FunctionTool[] {
  return tools.map(({ name, description, parameters, strict }) => ({
    type: 'function',
    name,
    description,
    inputSchema: parameters,
    ...(strict === undefined ? {} : { strict }),
  }));
}

function callOptions({ config, prompt, tools, isFirst }: ModelStep): LanguageModelV4CallOptions {
  const offered = functionTools(tools);
  const { sampling, answer } = config.settings;
  const { choice } = config.settings.tools;
  const { format, reasoning_effort: effort, max_output_tokens: maxOutputTokens } = answer;
  return {
    prompt,
    ...(offered.length === 0 ? {} : { tools: offered }),
    // A forced choice holds for the first call of the turn; held longer, the turn could never answer.
    ...(offered.length === 0 || choice === 'auto'
      ? {}
      : choice === 'none'
        ? { toolChoice: { type: 'none' as const } }
        : !isFirst
          ? {}
          : {
              toolChoice:
                choice === 'required'
                  ? { type: 'required' as const }
                  : { type: 'tool' as const, toolName: choice.name },
            }),
    ...(maxOutputTokens === null ? {} : { maxOutputTokens }),
    ...(sampling.temperature === null ? {} : { temperature: sampling.temperature }),
    ...(sampling.top_p === null ? {} : { topP: sampling.top_p }),
    ...(sampling.stop.length === 0 ? {} : { stopSequences: [...sampling.stop] }),
    ...(format.type === 'text'
      ? {}
      : {
          responseFormat: {
            type: 'json' as const,
            ...(format.name === undefined ? {} : { name: format.name }),
            ...(format.schema === undefined ? {} : { schema: format.schema }),
          },
        }),
    ...reasoningOptions(config.model, effort !== null && isReasoningEffort(effort) ? effort : undefined),
  };
}

/** Keeps back the first half of a character (a surrogate) whose second comes with the next delta. */
class HalfCharacters {
  readonly #halves = new Map<string, string>();

  /** The delta in whole characters. */
  join(block: string, delta: string): string {
    if (delta === '') return '';
    const text = (this.#halves.get(block) ?? '') + delta;
    this.#halves.delete(block);
    const last = text.charCodeAt(text.length - 1);
    if (last < 0xd800 || last > 0xdbff) return text.toWellFormed();
    this.#halves.set(block, text.slice(-1));
    return text.slice(0, -1).toWellFormed();
  }

  /** What is left of the block: a half that stays one. */
  end(block: string): string {
    const text = this.#halves.get(block) ?? '';
    this.#halves.delete(block);
    return text.toWellFormed();
  }
}

type ToolCallPart = Extract<AssistantContent[number], { type: 'tool-call' }>;

/** A text, or a thought, while it arrives. */
interface Block {
  readonly type: 'text' | 'reasoning';
  readonly id: string;
  readonly text: TextBuffer;
  providerOptions?: never;
}

/** The part as messages keep it; none for a text that stayed empty. */
function finishPart(part: Block | ToolCallPart): AssistantContent {
  if (part.type === 'tool-call') return [part];
  const { type, providerOptions } = part;
  const text = `${part.text}`;
  if (type === 'text' && text === '') return [];
  return [{ type, text, ...(providerOptions === undefined ? {} : { providerOptions }) }];
}

class AnswerCollector {
  readonly #step: ModelStep;
  readonly #content: (Block | ToolCallPart)[] = [];
  readonly #blocks = new Map<string, Block>();
  /** The one that grows: looked up once, not for each piece. */
  #current: Block | undefined;
  readonly #calls: RequestedCall[] = [];
  readonly #warnings: Warning[] = [];
  readonly #taken: Set<string>;
  #finishReason: ModelAnswer['finishReason'] = 'other';
  #usage: LanguageModelV4Usage | undefined;

  constructor(step: ModelStep) {
    this.#step = step;
    this.#taken = new Set(step.usedCallIds);
  }

  addText(id: string, delta: string): void {
    this.#step.partial.text.add(delta);
    this.#block('text', id).text.add(delta);
  }

  addReasoning(id: string, delta: string): void {
    this.#step.partial.reasoning.add(delta);
    this.#block('reasoning', id).text.add(delta);
  }

  /** Keeps the provider's signature of its reasoning: it wants it back with the next call. */
  endReasoning(id: string, metadata: never): void {
    if (metadata !== undefined) this.#block('reasoning', id).providerOptions = metadata;
  }

  #block(type: Block['type'], id: string): Block {
    if (this.#current?.type === type && this.#current.id === id) return this.#current;
    const block = this.#blocks.get(`${type}/${id}`) ?? this.#openBlock(type, id);
    this.#current = block;
    return block;
  }

  #openBlock(type: Block['type'], id: string): Block {
    const key = `${type}/${id}`;
    const block: Block = { type, id, text: new TextBuffer() };
    this.#blocks.set(key, block);
    this.#content.push(block);
    return block;
  }

  addCall(call: LanguageModelV4ToolCall): void {
    const callId = call.toolCallId !== '' && !this.#taken.has(call.toolCallId) ? call.toolCallId : mintId('call');
    this.#taken.add(callId);
    const { args, problem } = parseArguments(call.input);
    this.#calls.push({ callId, name: call.toolName, args, problem });
    const options = call.providerMetadata as never;
    this.#content.push({
      type: 'tool-call',
      toolCallId: callId,
      toolName: call.toolName,
      input: args,
      ...(options === undefined ? {} : { providerOptions: options }),
    });
  }

  addWarnings(warnings: readonly { type: string; feature?: string; details?: string; message?: string }[]): void {
    for (const { type, feature, details, message } of warnings) {
      const text = message ?? [feature, details].filter((word) => word !== undefined).join(': ');
      this.#warnings.push({ code: `model_${type}`, message: text === '' ? 'The model ignored a setting.' : text });
    }
  }

  finish(reason: string, usage: LanguageModelV4Usage): void {
    this.#usage = usage;
    this.#finishReason =
      reason === 'content-filter'
        ? 'content_filter'
        : reason === 'tool-calls'
          ? 'tool_calls'
          : reason === 'stop' || reason === 'length'
            ? reason
            : 'other';
  }

  answer(estimatedInput: number): ModelAnswer {
    const content = this.#content.flatMap(finishPart);
    const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
    const { inputTokens: input, outputTokens: output } = this.#usage ?? {};
    return {
      text,
      content,
      calls: this.#calls,
      finishReason: this.#finishReason,
      warnings: this.#warnings,
      usage: {
        inputTokens: input?.total ?? estimatedInput,
        outputTokens: output?.total ?? estimateTokens(text),
        ...(input?.cacheRead === undefined ? {} : { cachedInputTokens: input.cacheRead }),
        ...(input?.cacheWrite === undefined ? {} : { cacheWriteTokens: input.cacheWrite }),
        ...(output?.reasoning === undefined ? {} : { reasoningTokens: output.reasoning }),
      },
    };
  }
}

function parseArguments(input: string): { args: JsonObject; problem: string | undefined } {
  if (input.trim() === '') return { args: {}, problem: undefined };
  try {
    const value: unknown = JSON.parse(input);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
      return { args: value as JsonObject, problem: undefined };
    }
  } catch {
    // Told to the model below.
  }
  return { args: {}, problem: 'The arguments were not a JSON object. Call the tool again with valid arguments.' };
}
