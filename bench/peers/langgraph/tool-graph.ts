/** The same with one call of an MCP server's tool: the model asks for it, and answers with what it gave. */
import { SimpleChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage } from '@langchain/core/messages';
import type { ChatResult } from '@langchain/core/outputs';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';

const { TOOLS_URL: url = '', TOOL_TEXT: text = '' } = process.env;
const client = new MultiServerMCPClient({ mcpServers: { bench: { transport: 'http', url } } });
/** Once, when the server starts; its connection is kept for all runs. */
const tools = await client.getTools();

class CallingModel extends SimpleChatModel {
  _llmType(): string {
    return 'calling';
  }

  async _call(): Promise<string> {
    throw new Error('it answers with messages');
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const last = messages.at(-1);
    const message =
      last?.getType() === 'tool'
        ? new AIMessage(`The tool echo returned: ${last.text}`)
        : new AIMessage({
            content: '',
            tool_calls: [{ id: 'call_1', name: 'echo', args: { text }, type: 'tool_call' }],
          });
    return { generations: [{ message, text: message.text }] };
  }
}

const model = new CallingModel({});

export const graph = new StateGraph(MessagesAnnotation)
  .addNode('answer', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addNode('tools', new ToolNode(tools))
  .addEdge('__start__', 'answer')
  .addConditionalEdges('answer', toolsCondition)
  .addEdge('tools', 'answer')
  .compile();
