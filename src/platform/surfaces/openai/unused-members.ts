/**
 * Members that OpenAI documents and a turn here makes no use of. One that asks for another answer than the caller would get
 * is refused; a hint (about speed, cost, likelihoods or bookkeeping) is accepted and named in a header. docs/openai-members.md
 * lists every member of every request of the dialect.
 */
import { ApiError } from '../../../kernel/http/errors.ts';
import type { JsonObject } from '../../tables.ts';
import { FILE_SEARCH_RESULTS } from './responses/response-request.ts';

export interface UnusedMembers {
  readonly refused: readonly string[];
  readonly hints: readonly string[];
}

export const UNUSED_IN_COMPLETIONS: UnusedMembers = {
  refused: [
    'audio',
    'function_call',
    'functions',
    'logit_bias',
    'logprobs',
    'modalities',
    'moderation',
    'top_logprobs',
    'web_search_options',
  ],
  hints: [
    'frequency_penalty',
    'parallel_tool_calls',
    'prediction',
    'presence_penalty',
    'prompt_cache_key',
    'prompt_cache_options',
    'prompt_cache_retention',
    'safety_identifier',
    'seed',
    'service_tier',
    'verbosity',
  ],
};

export const UNUSED_IN_RESPONSES: UnusedMembers = {
  refused: ['access_programs', 'max_tool_calls', 'moderation', 'prompt', 'top_logprobs'],
  hints: [
    'context_management',
    'parallel_tool_calls',
    'prompt_cache_key',
    'prompt_cache_options',
    'prompt_cache_retention',
    'safety_identifier',
    'service_tier',
    'stream_options',
    'text.verbosity',
    'truncation',
  ],
};

/** What `include` may ask for beside what is shown. */
const REFUSED_INCLUDE = 'message.output_text.logprobs';

/** Values with which a client asks for nothing: those that are there without the member. */
const USUAL: Readonly<Record<string, unknown>> = {
  function_call: 'none',
  parallel_tool_calls: true,
  truncation: 'disabled',
  'text.verbosity': 'medium',
  verbosity: 'medium',
};

/**
 * The headers that name the hints which the request gave in vain. Throws `invalid_request` for what cannot be had here.
 */
export function checkUnused(body: object, { refused, hints }: UnusedMembers): Record<string, string> {
  const members = body as JsonObject;
  const wrong = refused.find((member) => asks(members, member));
  if (wrong !== undefined) {
    throw new ApiError('invalid_request', {
      param: wrong,
      message: `\`${wrong}\` is not supported here. Leave it out: the answer would be another one than it asks for.`,
    });
  }
  return headersFor([...hints.filter((hint) => asks(members, hint)), ...checkInclude(members.include)]);
}

/** The same of a query that asks for `include` alone. */
export function checkUnusedInclude(include: readonly string[]): Record<string, string> {
  return headersFor(checkInclude(include));
}

/** Items of other kinds than this server makes, or what they keep to themselves: there is nothing to include. */
function checkInclude(include: unknown): string[] {
  const wanted = Array.isArray(include) ? include.map(String) : [];
  if (wanted.includes(REFUSED_INCLUDE)) {
    throw new ApiError('invalid_request', {
      param: 'include',
      message: `\`include\` holds ${REFUSED_INCLUDE}, which is not supported here: no model tells its likelihoods.`,
    });
  }
  return wanted.some((name) => name !== FILE_SEARCH_RESULTS) ? ['include'] : [];
}

function headersFor(unused: readonly string[]): Record<string, string> {
  if (unused.length === 0) return {};
  return { 'ic-warnings': unused.map((param) => `unused_member; param="${param}"`).join(', ') };
}

function asks(members: JsonObject, path: string): boolean {
  const value = path.split('.').reduce<unknown>((of, name) => (of as JsonObject | null | undefined)?.[name], members);
  if (value === null || value === undefined || value === USUAL[path]) return false;
  // Where it is usually on, off is what asks for something.
  if (USUAL[path] === true) return value === false;
  if (Array.isArray(value)) return value.some((one) => one !== 'text');
  if (typeof value === 'object') return Object.values(value).some((one) => one !== null && one !== false);
  return value !== false && value !== 0 && value !== 'auto' && value !== 'default' && value !== '';
}
