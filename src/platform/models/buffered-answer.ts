/** A buffered answer (asked for in one piece), given as the parts of a stream, so that its reader need not know which it was. */
import type {
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import type { PartSource } from './chat-model.ts';
import type { Failure } from './model-call-error.ts';

type Part = LanguageModelV4StreamPart;

/** An answer that is there whole; its connection is done with. */
export class BufferedAnswer implements PartSource {
  #parts: readonly Part[] | undefined;

  constructor(parts: readonly Part[]) {
    this.#parts = parts;
  }

  async read(): Promise<readonly Part[] | undefined> {
    const parts = this.#parts;
    this.#parts = undefined;
    return parts;
  }

  async drain(): Promise<void> {}

  cancel(): void {
    this.#parts = undefined;
  }
}

export function listParts(answer: LanguageModelV4GenerateResult): Part[] {
  const { finishReason, usage, providerMetadata } = answer;
  const { id, timestamp, modelId } = answer.response ?? {};
  return [
    { type: 'stream-start', warnings: answer.warnings },
    {
      type: 'response-metadata',
      ...(id === undefined ? {} : { id }),
      ...(timestamp === undefined ? {} : { timestamp }),
      ...(modelId === undefined ? {} : { modelId }),
    },
    ...answer.content.flatMap((content, index) => [...contentParts(content, `${index}`)]),
    { type: 'finish', finishReason, usage, ...(providerMetadata === undefined ? {} : { providerMetadata }) },
  ];
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
