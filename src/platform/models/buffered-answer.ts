/** A buffered answer (asked for in one piece), given as the parts of a stream, so that its reader need not know which it was. */
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import type { Failure } from './model-call-error.ts';

type Part = LanguageModelV4StreamPart;

/** Resolves once the whole answer is there. Throws what the provider's package throws. */
export async function generateBuffered(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
): Promise<LanguageModelV4StreamResult> {
  return { stream: ReadableStream.from(listParts(await model.doGenerate(options))) };
}

function* listParts(answer: LanguageModelV4GenerateResult): Generator<Part, void, void> {
  const { finishReason, usage, providerMetadata } = answer;
  const { id, timestamp, modelId } = answer.response ?? {};
  yield { type: 'stream-start', warnings: answer.warnings };
  yield {
    type: 'response-metadata',
    ...(id === undefined ? {} : { id }),
    ...(timestamp === undefined ? {} : { timestamp }),
    ...(modelId === undefined ? {} : { modelId }),
  };
  for (const [index, content] of answer.content.entries()) yield* contentParts(content, `${index}`);
  yield { type: 'finish', finishReason, usage, ...(providerMetadata === undefined ? {} : { providerMetadata }) };
}

function* contentParts(content: LanguageModelV4Content, id: string): Generator<Part, void, void> {
  if (content.type !== 'text' && content.type !== 'reasoning') {
    yield content;
    return;
  }
  const { type, text, providerMetadata } = content;
  yield { type: `${type}-start`, id };
  yield { type: `${type}-delta`, id, delta: text };
  // A provider that streams signs its reasoning at its end.
  yield { type: `${type}-end`, id, ...(providerMetadata === undefined ? {} : { providerMetadata }) };
}

/** Whether a model that was asked for a buffered answer refused because it can only stream. */
export function demandsStream({ status, text }: Failure): boolean {
  return status !== undefined && status >= 400 && status < 500 && /\bstream(ing|ed)?\b/i.test(text);
}
