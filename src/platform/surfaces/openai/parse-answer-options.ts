/** How an answer is to be given, in the spellings of both surfaces; `param` is the member's path in the request. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { type FormatSource, parseResponseFormat, type ResponseFormat } from '../../engine/index.ts';
import { isReasoningEffort, REASONING_EFFORTS, type ReasoningEffort } from '../../models/index.ts';
import type { JsonObject } from '../../tables.ts';

/** `response_format`, or `text.format`. Throws `invalid_response_format`, and as `parseResponseFormat` does. */
export async function readResponseFormat(format: unknown, source: FormatSource): Promise<ResponseFormat> {
  const isObject = format !== null && typeof format === 'object' && !Array.isArray(format);
  if (format == null || isObject) return parseResponseFormat(format as JsonObject | null | undefined, source);
  const { param } = source;
  throw new ApiError('invalid_response_format', { param, message: `\`${param}\` must be an object with a type.` });
}

/** `reasoning_effort`, or `reasoning.effort`. Throws `invalid_reasoning_effort`. */
export function readReasoningEffort(effort: unknown, param: string): ReasoningEffort | null {
  if (effort === undefined || effort === null) return null;
  if (typeof effort === 'string' && isReasoningEffort(effort)) return effort;
  throw new ApiError('invalid_reasoning_effort', {
    param,
    message: `\`${param}\` must be one of ${REASONING_EFFORTS.join(', ')}.`,
  });
}
