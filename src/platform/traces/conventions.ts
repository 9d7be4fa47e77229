/**
 * OpenTelemetry's semantic conventions for generative AI, as far as spans here have them:
 * https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/. What was said is not among the attributes: the run has
 * it, and reading a run takes a scope of its own.
 */
import { splitModelId } from '../models/index.ts';
import type { SpanKind } from './trace.ts';

export const OPERATION = 'gen_ai.operation.name';
const PROVIDER = 'gen_ai.provider.name';
const REQUEST_MODEL = 'gen_ai.request.model';
export const FINISH_REASONS = 'gen_ai.response.finish_reasons';
export const INPUT_TOKENS = 'gen_ai.usage.input_tokens';
export const OUTPUT_TOKENS = 'gen_ai.usage.output_tokens';
export const CACHED_TOKENS = 'gen_ai.usage.cache_read.input_tokens';
export const REASONING_TOKENS = 'gen_ai.usage.reasoning.output_tokens';
/** Not of the conventions, but what instrumentations that know a price write. In US dollars. */
export const COST = 'gen_ai.usage.cost';
export const AGENT_ID = 'gen_ai.agent.id';
export const CONVERSATION_ID = 'gen_ai.conversation.id';
export const TOOL_NAME = 'gen_ai.tool.name';
export const TOOL_CALL_ID = 'gen_ai.tool.call.id';
export const TOOL_TYPE = 'gen_ai.tool.type';
export const DATA_SOURCE_ID = 'gen_ai.data_source.id';
export const ERROR_TYPE = 'error.type';
export const MCP_METHOD = 'mcp.method.name';

/** Ironcraft's own. */
export const SMITH_ID = 'ironcraft.smith_id';
export const APP_ID = 'ironcraft.app_id';
export const PROJECT_ID = 'ironcraft.project_id';
export const RUN_ID = 'ironcraft.run_id';
export const CHANNEL = 'ironcraft.channel';
export const AGENT_VERSION = 'ironcraft.agent_version';
export const ATTEMPT = 'ironcraft.run.attempt';
export const MCP_SERVER = 'ironcraft.mcp.server_label';
export const APPROVAL_ID = 'ironcraft.approval.id';
export const APPROVAL_DECISION = 'ironcraft.approval.decision';
export const RESULTS = 'ironcraft.retrieval.results';

/** The conventions' names of providers, where they differ from ours. */
const PROVIDERS: Readonly<Record<string, string>> = {
  bedrock: 'aws.bedrock',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  xai: 'x_ai',
};

/** Provider and model of an id such as `openai/gpt-5`. */
export function modelAttributes(modelId: string): Record<string, string> {
  const { provider, model } = splitModelId(modelId);
  return { ...(provider === '' ? {} : { [PROVIDER]: PROVIDERS[provider] ?? provider }), [REQUEST_MODEL]: model };
}

const MAX_MODEL_CHARS = 256;

/** `provider/model` as usage has it; '' where the attributes name no model. */
export function modelOf(attributes: Readonly<Record<string, unknown>>): string {
  const [provider, model] = [attributes[PROVIDER] ?? attributes['gen_ai.system'], attributes[REQUEST_MODEL]];
  if (typeof model !== 'string') return '';
  const name = typeof provider === 'string' ? `${provider}/${model}` : model;
  return name.slice(0, MAX_MODEL_CHARS).toWellFormed();
}

const KINDS: Readonly<Record<string, SpanKind>> = {
  chat: 'model',
  text_completion: 'model',
  generate_content: 'model',
  embeddings: 'retrieval',
  retrieval: 'retrieval',
  execute_tool: 'tool',
  invoke_agent: 'turn',
  invoke_workflow: 'turn',
};

/** What kind of span one with these attributes is. */
export function kindOf(attributes: Readonly<Record<string, unknown>>): SpanKind {
  const operation = attributes[OPERATION];
  return typeof operation === 'string' && Object.hasOwn(KINDS, operation) ? (KINDS[operation] ?? 'other') : 'other';
}

/** Operations whose usage is that of the spans inside them. */
const SUMS: ReadonlySet<unknown> = new Set(['invoke_agent', 'invoke_workflow', 'create_agent', 'execute_tool']);

/** Whether the usage of such a span is its own, and counts. */
export function hasOwnUsage(attributes: Readonly<Record<string, unknown>>): boolean {
  return !SUMS.has(attributes[OPERATION]);
}
