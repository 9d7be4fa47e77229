/** Summarizes earlier turns of a thread. The model writes the summary; if it fails, the first lines of each are used. */
import type { LanguageModelV4Usage } from '@ai-sdk/provider';
import { callModel, estimatePromptTokens, estimateTokens, type ModelCall } from '../../models/index.ts';
import { emptyAnswer, estimateOutput, readUsage, type StepUsage } from '../execution/collect-answer.ts';
import type { StoredMessage } from '../turn.ts';
import { findLevel } from './fit-history.ts';

export interface ThreadSummary {
  readonly text: string;
  readonly usage: StepUsage;
  /** False: the model did not answer, so the summary is an excerpt. */
  readonly byModel: boolean;
}

const BRIEF =
  'Summarize the conversation below for the assistant that will continue it. Keep names, numbers, decisions, open ' +
  'questions and what the user asked to remember. Write plain sentences. Answer with the summary alone.';
const EXCERPT_CHARS = 240;
/** A line of the transcript is not cut below this. */
const MIN_LINE_TOKENS = 48;

/** `maxTokens` bounds the summary, `room` what may be sent to the model. Never throws but on abort. */
export async function summarizeThread(
  call: Pick<ModelCall, 'model' | 'limits' | 'signal'>,
  earlier: string | null,
  messages: readonly StoredMessage[],
  limits: { readonly maxTokens: number; readonly room: number },
): Promise<ThreadSummary> {
  const lines = [...(earlier === null ? [] : [earlier]), ...messages.map(renderMessage)];
  const excerpt = clipToTokens(lines.map((line) => line.slice(0, EXCERPT_CHARS)).join('\n'), limits.maxTokens);
  // The built-in model cannot summarize; what it would write is longer than the excerpt and says less.
  if (call.model.provider.startsWith('builtin')) return { text: excerpt, usage: NOTHING, byModel: false };
  const transcript = clipToTokens(shortenLines(lines, limits.room).join('\n'), limits.room);
  const prompt = [
    { role: 'system' as const, content: BRIEF },
    { role: 'user' as const, content: [{ type: 'text' as const, text: transcript }] },
  ];
  const answer = emptyAnswer();
  let used: LanguageModelV4Usage | undefined;
  const readUsed = () => readUsage(used, estimatePromptTokens(prompt), answer);
  try {
    await callModel({ ...call, options: { prompt, maxOutputTokens: limits.maxTokens } }, (parts) => {
      for (const part of parts) {
        if (part.type === 'text-delta') answer.text.add(part.delta);
        if (part.type === 'reasoning-delta') answer.reasoning.add(part.delta);
        if (part.type === 'finish') used = part.usage;
      }
    });
    const text = `${answer.text}`.trim();
    const usable = text !== '';
    return { text: usable ? clipToTokens(text, limits.maxTokens) : excerpt, usage: readUsed(), byModel: usable };
  } catch (error) {
    if (call.signal?.aborted) throw error;
    // What had come of an answer that was cut off is paid for; providers do not say how much it was.
    return { text: excerpt, usage: estimateOutput(answer) === 0 ? NOTHING : readUsed(), byModel: false };
  }
}

const NOTHING: StepUsage = { inputTokens: 0, outputTokens: 0 };

/** Of one message. Its line is cut to its share of the transcript later; a message of megabytes would be a stall before. */
const RENDERED_CHARS_MAX = 200_000;

function renderMessage({ role, content }: StoredMessage): string {
  return `${role}: ${textOf(content).slice(0, RENDERED_CHARS_MAX).toWellFormed().replaceAll(/\s+/g, ' ').trim()}`;
}

function textOf(content: StoredMessage['content']): string {
  if (typeof content === 'string') return content;
  return content
    .map((part) => {
      switch (part.type) {
        case 'text':
          return part.text;
        case 'file':
          return `(a file: ${part.mediaType})`;
        case 'tool-call':
          return `(called ${part.toolName} with ${JSON.stringify(part.input)})`;
        case 'tool-result':
          return `(${part.toolName} gave ${JSON.stringify('value' in part.output ? part.output.value : part.output)})`;
        default:
          return '';
      }
    })
    .join(' ');
}

/** Long lines give way before whole ones are lost. */
function shortenLines(lines: readonly string[], maxTokens: number): string[] {
  const sizes = lines.map((line) => estimateTokens(line) + 1);
  const level = Math.max(MIN_LINE_TOKENS, findLevel(sizes, maxTokens));
  return lines.map((line, index) => {
    const size = sizes[index] ?? 0;
    return size <= level ? line : line.slice(0, Math.floor((line.length * level) / size)).toWellFormed();
  });
}

/** Keeps the end, which is newest. */
function clipToTokens(text: string, maxTokens: number): string {
  let kept = text;
  while (estimateTokens(kept) > maxTokens && kept.length > 16) {
    const share = maxTokens / estimateTokens(kept);
    kept = kept.slice(kept.length - Math.max(16, Math.floor(kept.length * Math.min(0.95, share)))).toWellFormed();
  }
  return kept;
}
