/** Puts a model's answer together from the parts of its stream. */

import type { LanguageModelV4Message, LanguageModelV4ToolCall, LanguageModelV4Usage } from '@ai-sdk/provider';
import { parseJsonText } from '../../../kernel/http/json-body.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { estimateTokens } from '../../models/index.ts';
import type { JsonObject } from '../../tables.ts';
import type { Warning } from '../turn.ts';
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

/** What has arrived of an answer. */
export interface PartialAnswer {
  readonly text: TextBuffer;
  readonly reasoning: TextBuffer;
  /** The arguments of calls. */
  readonly inputs: TextBuffer;
}

export function emptyAnswer(): PartialAnswer {
  return { text: new TextBuffer(), reasoning: new TextBuffer(), inputs: new TextBuffer() };
}

/** The tokens of what has arrived, where the provider does not say. */
export function estimateOutput({ text, reasoning, inputs }: PartialAnswer): number {
  return [text, reasoning, inputs].reduce((sum, part) => sum + estimateTokens(`${part}`), 0);
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

export class AnswerCollector {
  readonly #partial: PartialAnswer;
  readonly #content: (Block | ToolCallPart)[] = [];
  readonly #blocks = new Map<string, Block>();
  /** The block of the newest piece: looked up once, not for each piece. */
  #current: Block | undefined;
  readonly #calls: RequestedCall[] = [];
  readonly #warnings: Warning[] = [];
  readonly #taken: Set<string>;
  /** Calls whose arguments have come in pieces. */
  readonly #inputs = new Set<string>();
  #finishReason: ModelAnswer['finishReason'] = 'other';
  #usage: LanguageModelV4Usage | undefined;

  /** `usedCallIds`: of earlier steps of the run. `partial` grows with the answer. */
  constructor(usedCallIds: ReadonlySet<string>, partial: PartialAnswer) {
    this.#partial = partial;
    this.#taken = new Set(usedCallIds);
  }

  addText(id: string, delta: string): void {
    this.#partial.text.add(delta);
    this.#block('text', id).text.add(delta);
  }

  addReasoning(id: string, delta: string): void {
    this.#partial.reasoning.add(delta);
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

  addInput(id: string, delta: string): void {
    this.#inputs.add(id);
    this.#partial.inputs.add(delta);
  }

  addCall(call: LanguageModelV4ToolCall): void {
    if (!this.#inputs.has(call.toolCallId)) this.#partial.inputs.add(call.input);
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
    return {
      text,
      content,
      calls: this.#calls,
      finishReason: this.#finishReason,
      warnings: this.#warnings,
      usage: readUsage(this.#usage, estimatedInput, this.#partial),
    };
  }
}

/** What the provider says, and an estimate of what it does not say. */
export function readUsage(
  usage: LanguageModelV4Usage | undefined,
  estimatedInput: number,
  answer: PartialAnswer,
): StepUsage {
  const { inputTokens: input, outputTokens: output } = usage ?? {};
  return {
    inputTokens: input?.total ?? estimatedInput,
    outputTokens: output?.total ?? estimateOutput(answer),
    ...(input?.cacheRead === undefined ? {} : { cachedInputTokens: input.cacheRead }),
    ...(input?.cacheWrite === undefined ? {} : { cacheWriteTokens: input.cacheWrite }),
    ...(output?.reasoning === undefined ? {} : { reasoningTokens: output.reasoning }),
  };
}

function parseArguments(input: string): { args: JsonObject; problem: string | undefined } {
  if (input.trim() === '') return { args: {}, problem: undefined };
  try {
    const value: unknown = parseJsonText(input);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
      return { args: value as JsonObject, problem: undefined };
    }
  } catch {
    // The problem below tells the model.
  }
  return { args: {}, problem: 'The arguments were not a JSON object. Call the tool again with valid arguments.' };
}
