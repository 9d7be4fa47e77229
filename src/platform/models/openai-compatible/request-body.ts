/** The body of a chat-completions request. */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  SharedV4Warning as Warning,
} from '@ai-sdk/provider';
import { completeMediaTypes } from './media-types.ts';
import { renderMessages } from './request-messages.ts';

export interface ChatRequest {
  readonly body: string;
  /** What was asked for and cannot be said in the dialect. */
  readonly warnings: Warning[];
}

/** Throws `UnsupportedFunctionalityError` for a file that the dialect has no place for. */
export async function renderRequest(
  { provider, model }: { readonly provider: string; readonly model: string },
  options: LanguageModelV4CallOptions,
  streamed: boolean,
): Promise<ChatRequest> {
  const { tools = [], toolChoice, reasoning } = options;
  const functions = tools.filter((tool) => tool.type === 'function');
  const prompt = await completeMediaTypes(options.prompt);
  const body = {
    model,
    max_tokens: options.maxOutputTokens,
    temperature: options.temperature,
    top_p: options.topP,
    frequency_penalty: options.frequencyPenalty,
    presence_penalty: options.presencePenalty,
    response_format: renderFormat(options.responseFormat),
    stop: options.stopSequences,
    seed: options.seed,
    reasoning_effort: reasoning === 'provider-default' ? undefined : reasoning,
    messages: renderMessages(prompt, provider),
    ...(tools.length === 0 ? {} : { tools: functions.map(renderTool), tool_choice: renderChoice(toolChoice) }),
    // Without include_usage most servers report no token counts on a stream.
    ...(streamed ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
  return { body: JSON.stringify(body), warnings: listWarnings(options) };
}

function listWarnings({ topK, tools = [] }: LanguageModelV4CallOptions): Warning[] {
  const features = [
    ...(topK === undefined ? [] : ['topK']),
    ...tools.flatMap((tool) => (tool.type === 'provider' ? [`provider-defined tool ${tool.id}`] : [])),
  ];
  return features.map((feature) => ({ type: 'unsupported', feature }));
}

function renderFormat(format: LanguageModelV4CallOptions['responseFormat']) {
  if (format?.type !== 'json') return undefined;
  if (format.schema === undefined) return { type: 'json_object' };
  const { schema, name = 'response', description } = format;
  return { type: 'json_schema', json_schema: { schema, strict: true, name, description } };
}

function renderTool({ name, description, inputSchema, strict }: LanguageModelV4FunctionTool) {
  return { type: 'function', function: { name, description, parameters: inputSchema, strict } };
}

function renderChoice(choice: LanguageModelV4CallOptions['toolChoice']) {
  return choice?.type === 'tool' ? { type: 'function', function: { name: choice.toolName } } : choice?.type;
}
