import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { splitModelId } from './model-id.ts';

/** The values of `reasoning_effort` of the OpenAI-compatible surfaces. */
export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;

export type ReasoningEffort = (typeof REASONING_EFFORTS)[number];

/** Model families that take an effort, by provider; absent: the provider's models are not known here, and it decides. */
const REASONING_MODELS: Readonly<Record<string, RegExp>> = {
  openai: /^(o\d|gpt-[5-9]|gpt-oss|codex)/,
  anthropic: /^claude-(3-7|3\.7|4|(opus|sonnet|haiku)-4|(opus|sonnet|haiku|fable|mythos)-[5-9])/,
  google: /^gemini-(2\.5|[3-9])/,
  bedrock:
    /claude-(3-7|4|(opus|sonnet|haiku)-4|(opus|sonnet|haiku|fable|mythos)-[5-9])|nova-2|gpt-(oss|[5-9])|deepseek\.r1/,
  mistral: /^(magistral|mistral-(small|medium)-(latest|3-5|26))/,
  xai: /^grok-(3-mini|4\.[2-9]|4-1-fast-reasoning|4-fast-reasoning|[5-9])/,
  groq: /gpt-oss|qwen3|deepseek-r1/,
  deepseek: /reasoner|^deepseek-v(3\.[1-9]|[4-9])/,
};

export function isReasoningEffort(value: string): value is ReasoningEffort {
  return REASONING_EFFORTS.some((effort) => effort === value);
}

/** Whether a `reasoning_effort` reaches the model. True for providers whose models are not known here. */
export function supportsReasoningEffort(modelId: string): boolean {
  const { provider, model } = splitModelId(modelId);
  return REASONING_MODELS[provider]?.test(model) ?? true;
}

/**
 * The call option for an effort. The model specification has a setting of its own, which every provider package maps
 * to its dialect (an effort word, a thinking budget), so that nothing provider-specific is needed. Empty where no effort
 * is asked for or the model takes none.
 */
export function reasoningOptions(
  modelId: string,
  effort: ReasoningEffort | undefined,
): Pick<LanguageModelV4CallOptions, 'reasoning'> {
  return effort !== undefined && supportsReasoningEffort(modelId) ? { reasoning: effort } : {};
}
