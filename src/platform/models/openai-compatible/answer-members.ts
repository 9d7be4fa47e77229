/** What chunks and whole answers say besides their content. */
import type {
  LanguageModelV4FinishReason,
  LanguageModelV4ResponseMetadata,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import { type Members, optionalNumber, optionalObject, optionalText } from './chat-members.ts';

export function readMetadata({ id, model, created }: Members): LanguageModelV4ResponseMetadata {
  const responseId = optionalText(id, 'id');
  const modelId = optionalText(model, 'model');
  // Some servers send 0 for a time that they do not know.
  const seconds = optionalNumber(created, 'created') || undefined;
  return {
    ...(responseId === undefined ? {} : { id: responseId }),
    ...(modelId === undefined ? {} : { modelId }),
    ...(seconds === undefined ? {} : { timestamp: new Date(seconds * 1000) }),
  };
}

export function readUsage(value: unknown): Members | undefined {
  return optionalObject(value, 'usage');
}

/** Undefined counts are not known. */
export function renderUsage(usage: Members | undefined): LanguageModelV4Usage {
  if (usage === undefined) {
    return {
      inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: undefined, text: undefined, reasoning: undefined },
    };
  }
  const countIn = (members: Members | undefined, name: string) => optionalNumber(members?.[name], name) ?? 0;
  const prompt = countIn(usage, 'prompt_tokens');
  const completion = countIn(usage, 'completion_tokens');
  const cached = countIn(optionalObject(usage.prompt_tokens_details, 'prompt_tokens_details'), 'cached_tokens');
  const details = optionalObject(usage.completion_tokens_details, 'completion_tokens_details');
  const reasoning = countIn(details, 'reasoning_tokens');
  return {
    inputTokens: { total: prompt, noCache: prompt - cached, cacheRead: cached, cacheWrite: undefined },
    outputTokens: { total: completion, text: Math.max(0, completion - reasoning), reasoning },
  };
}

export function renderFinishReason(raw: string | undefined, refused: boolean): LanguageModelV4FinishReason {
  return { unified: unifyReason(raw, refused), raw };
}

function unifyReason(raw: string | undefined, refused: boolean): LanguageModelV4FinishReason['unified'] {
  switch (raw) {
    case 'stop':
      // A refusal is reported as an answer that was completed.
      return refused ? 'content-filter' : 'stop';
    case 'length':
      return 'length';
    case 'content_filter':
      return 'content-filter';
    case 'function_call':
    case 'tool_calls':
      return 'tool-calls';
    default:
      return 'other';
  }
}

/** The signature that Gemini wants back with the call, under the provider's own name. */
export function signatureOf(
  provider: string,
  thoughtSignature: string | undefined,
): { readonly providerMetadata?: SharedV4ProviderMetadata } {
  return thoughtSignature === undefined ? {} : { providerMetadata: { [provider]: { thoughtSignature } } };
}
