/** The clients that people use, asking a smith for responses as each does: streamed or in one piece, with a person to decide. */
import assert from 'node:assert/strict';
import { createOpenAI } from '@ai-sdk/openai';
import { type AIMessageChunk, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI, type ChatOpenAIResponses } from '@langchain/openai';
import { generateText, type ModelMessage, streamText, type ToolSet } from 'ai';
import OpenAI from 'openai';
import type { loadAgents } from './openai-agents.ts';
import type { TestPlatform, TestProject } from './platform.ts';

/** Where a client finds the smith. */
export interface ClientAddress {
  readonly token: string;
  readonly baseURL: string;
}

export async function addressOf(platform: TestPlatform, project: TestProject, smithId: string): Promise<ClientAddress> {
  const token = await project.smithToken(smithId, ['runs:read', 'runs:write', 'approvals:write']);
  return { token, baseURL: `${platform.url}/v1` };
}

/** Whether an answer is streamed. */
export const WAYS = [false, true];

export function nameWay(streamed: boolean): string {
  return streamed ? 'streamed' : 'in one piece';
}

export function openaiFor({ token, baseURL }: ClientAddress): OpenAI {
  return new OpenAI({ apiKey: token, baseURL, maxRetries: 0 });
}

/** `types`: where the types of a stream's events go. */
export async function createResponse(
  openai: OpenAI,
  streamed: boolean,
  body: Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming>,
  types: string[] = [],
): Promise<OpenAI.Responses.Response> {
  const request = { model: 'ironcraft', ...body };
  if (!streamed) return openai.responses.create(request);
  const stream = openai.responses.stream({ ...request, stream: true });
  stream.on('event', ({ type }) => types.push(type));
  return stream.finalResponse();
}

/** The call that a person is to decide on. */
export function questionOf({
  output,
}: OpenAI.Responses.Response): OpenAI.Responses.ResponseOutputItem.McpApprovalRequest {
  const item = output.find(({ type }) => type === 'mcp_approval_request');
  assert.ok(item?.type === 'mcp_approval_request', JSON.stringify(output));
  return item;
}

/** A conversation by the AI SDK, which sends all of it each time. */
export function startAi(
  { token, baseURL }: ClientAddress,
  streamed: boolean,
  options: { readonly store?: boolean; readonly tools?: ToolSet } = {},
) {
  const { store, ...more } = options;
  const model = createOpenAI({ apiKey: token, baseURL }).responses('ironcraft');
  const messages: ModelMessage[] = [];
  const ask = async (message: ModelMessage) => {
    messages.push(message);
    const providerOptions = store === undefined ? {} : { providerOptions: { openai: { store } } };
    const call = { model, messages, maxRetries: 0, ...more, ...providerOptions };
    const result = streamed ? streamText(call) : await generateText(call);
    const content = await result.content;
    messages.push(...(await result.response).messages);
    return { content, text: await result.text };
  };
  type Answer = Awaited<ReturnType<typeof ask>>;
  return {
    say: (content: string) => ask({ role: 'user', content }),
    /** Decides on the one call that the answer asks for. */
    decide({ content }: Answer, approved: boolean) {
      const asked = content.filter(({ type }) => type === 'tool-approval-request');
      const [request] = asked;
      assert.ok(asked.length === 1 && request?.type === 'tool-approval-request', JSON.stringify(content));
      const { approvalId } = request;
      const decision = { type: 'tool-approval-response' as const, approvalId, approved, providerExecuted: true };
      return ask({ role: 'tool', content: [decision] });
    },
    resultsOf: ({ content }: Answer) => content.filter(({ type }) => type === 'tool-result'),
  };
}

/** A conversation by LangChain, which goes on from the response before. */
export function startLangchain(
  { token, baseURL }: ClientAddress,
  streamed: boolean,
  tools: Parameters<ChatOpenAIResponses['bindTools']>[0] = [],
) {
  const configuration = { baseURL };
  const bare = new ChatOpenAI({
    model: 'ironcraft',
    apiKey: token,
    configuration,
    maxRetries: 0,
    useResponsesApi: true,
  });
  const model = tools.length === 0 ? bare : bare.bindTools(tools);
  const ask = async (message: BaseMessage, previous?: string): Promise<AIMessageChunk> => {
    const options = previous === undefined ? {} : { previous_response_id: previous };
    if (!streamed) return model.invoke([message], options);
    let whole: AIMessageChunk | undefined;
    for await (const chunk of await model.stream([message], options)) whole = whole?.concat(chunk) ?? chunk;
    assert.ok(whole);
    return whole;
  };
  const itemsOf = ({ additional_kwargs }: AIMessageChunk) =>
    (additional_kwargs.tool_outputs ?? []) as { type: string; id: string; output?: string }[];
  return {
    say: (text: string) => ask(new HumanMessage(text)),
    decide(answer: AIMessageChunk, approve: boolean) {
      const asked = itemsOf(answer).find(({ type }) => type === 'mcp_approval_request');
      assert.ok(asked, JSON.stringify(answer.additional_kwargs));
      const decision = { type: 'mcp_approval_response', approval_request_id: asked.id, approve };
      return ask(new HumanMessage({ content: [decision] as never }), String(answer.response_metadata.id));
    },
    itemsOf,
  };
}

type Agents = Awaited<ReturnType<typeof loadAgents>>;

/** A conversation by OpenAI's SDK for agents. */
export function startAgent(
  { Agent, OpenAIResponsesModel, run }: Agents,
  smith: ClientAddress,
  streamed: boolean,
  tools: InstanceType<Agents['Agent']>['tools'],
) {
  const agent = new Agent({ name: 'Caller', model: new OpenAIResponsesModel(openaiFor(smith), 'ironcraft'), tools });
  const go = async (input: unknown) => {
    if (!streamed) return run(agent, input as string);
    const result = await run(agent, input as string, { stream: true });
    await result.completed;
    return result;
  };
  type Result = Awaited<ReturnType<typeof go>>;
  return {
    say: (text: string) => go(text),
    decide(result: Result, decision: 'approve' | 'reject') {
      const [asked] = result.interruptions ?? [];
      assert.ok(asked, JSON.stringify(result.output));
      result.state[decision](asked);
      return go(result.state);
    },
    /** The whole history again, with one message more. */
    sayMore: ({ history }: Result, content: string) => go([...history, { role: 'user', content }]),
  };
}
