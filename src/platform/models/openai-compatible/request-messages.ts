/** The messages of a prompt in the dialect of chat completions. */
import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider';
import { renderPart } from './request-parts.ts';

/** `provider`: whose references to files and signatures are meant. */
export function renderMessages(prompt: LanguageModelV4Prompt, provider: string): unknown[] {
  return prompt.flatMap((message) => renderMessage(message, provider));
}

function renderMessage(message: LanguageModelV4Message, provider: string): unknown[] {
  switch (message.role) {
    case 'system':
      return [{ role: 'system', content: message.content }];
    case 'user': {
      const [only, ...more] = message.content;
      // Servers of text models alone take no list.
      if (only?.type === 'text' && more.length === 0) return [{ role: 'user', content: only.text }];
      return [{ role: 'user', content: message.content.map((part) => renderPart(part, provider)) }];
    }
    case 'assistant':
      return [renderAnswer(message.content, provider)];
    case 'tool':
      return message.content.flatMap((part) =>
        part.type === 'tool-result'
          ? [{ role: 'tool', tool_call_id: part.toolCallId, content: renderOutput(part.output) }]
          : [],
      );
  }
}

function renderAnswer(
  content: Extract<LanguageModelV4Message, { readonly role: 'assistant' }>['content'],
  provider: string,
): unknown {
  const textOf = (type: 'text' | 'reasoning') => content.map((part) => (part.type === type ? part.text : '')).join('');
  const text = textOf('text');
  const reasoning = textOf('reasoning');
  const calls = content.flatMap((part) => (part.type === 'tool-call' ? [renderCall(part, provider)] : []));
  return {
    role: 'assistant',
    content: calls.length > 0 ? text || null : text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function renderCall({ toolCallId, toolName, input, providerOptions }: LanguageModelV4ToolCallPart, provider: string) {
  // Gemini behind this dialect wants the signature of its thought back with the call.
  const signature = providerOptions?.[provider]?.thoughtSignature ?? providerOptions?.google?.thoughtSignature;
  return {
    id: toolCallId,
    type: 'function',
    function: { name: toolName, arguments: renderArguments(input) },
    ...(signature ? { extra_content: { google: { thought_signature: String(signature) } } } : {}),
  };
}

function renderArguments(input: unknown): string | undefined {
  return typeof input === 'string' && isJson(input) ? input : JSON.stringify(input);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function renderOutput(output: LanguageModelV4ToolResultPart['output']): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value;
    case 'execution-denied':
      return output.reason ?? 'Tool call execution denied.';
    case 'json':
    case 'error-json':
    case 'content':
      return JSON.stringify(output.value);
  }
}
