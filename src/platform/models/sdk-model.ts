import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { BufferedAnswer, listParts } from './buffered-answer.ts';
import type { ChatModel, PartSource } from './chat-model.ts';

/** A model of an `@ai-sdk` package, or one that is made as those are. */
export function adaptSdkModel(model: LanguageModelV4): ChatModel {
  return {
    provider: model.provider,
    modelId: model.modelId,
    async ask(options, buffered) {
      if (buffered) return new BufferedAnswer(listParts(await model.doGenerate(options)));
      const { stream } = await model.doStream(options);
      return new StreamedAnswer(stream);
    },
  };
}

class StreamedAnswer implements PartSource {
  readonly #reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart>;

  constructor(stream: ReadableStream<LanguageModelV4StreamPart>) {
    this.#reader = stream.getReader();
  }

  async read(): Promise<readonly LanguageModelV4StreamPart[] | undefined> {
    const { value } = await this.#reader.read();
    return value === undefined ? undefined : [value];
  }

  async drain(): Promise<void> {
    try {
      while (!(await this.#reader.read()).done);
    } catch {
      // The answer is complete; how its connection ends is of no interest.
    }
  }

  cancel(): void {
    this.#reader.cancel().catch(() => {});
  }
}
