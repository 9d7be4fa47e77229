/** The smallest graph that does what our run does: one model call on the thread's messages, its answer kept. */

import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { SimpleChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessageChunk, type BaseMessage } from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';

/** In process, instant and deterministic: "Write N words" answers N words, streamed one at a time. */
class WordModel extends SimpleChatModel {
  _llmType(): string {
    return 'words';
  }

  async _call(messages: BaseMessage[]): Promise<string> {
    return listWords(messages).join('');
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const text of listWords(messages)) {
      yield new ChatGenerationChunk({ message: new AIMessageChunk({ content: text }), text });
      await runManager?.handleLLMNewToken(text);
    }
  }
}

function listWords(messages: BaseMessage[]): string[] {
  const wanted = /write (\d+) words/i.exec(String(messages.at(-1)?.content))?.[1] ?? '1';
  return Array.from({ length: Number(wanted) }, (_, index) => (index === 0 ? 'word' : ` word${index}`));
}

const model = new WordModel({});

export const graph = new StateGraph(MessagesAnnotation)
  .addNode('answer', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addEdge('__start__', 'answer')
  .compile();
