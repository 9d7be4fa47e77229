/** What the tools answer with. */
import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import type { ApiError } from '../../kernel/http/errors.ts';
import type { RunRow } from '../engine/index.ts';

export type ReplyStatus = RunRow['status'];

/** Of both tools: which turn it is, and how it stands. */
export const REPLY_SCHEMA: NonNullable<Tool['outputSchema']> = {
  type: 'object',
  properties: {
    run_id: { type: ['string', 'null'], description: 'The turn. Null: none has begun.' },
    thread_id: { type: ['string', 'null'], description: 'The conversation. Send it with the next message.' },
    status: {
      type: 'string',
      enum: ['in_progress', 'paused', 'completed', 'failed', 'cancelled'],
      description: '`in_progress` and `paused`: the reply comes later, ask for it with `get_reply`.',
    },
  },
  required: ['run_id', 'thread_id', 'status'],
};

/** Under which `_meta` names the code of a refusal: the platform's own, as its API has it. */
const CODE_KEY = 'ironcraft/code';

export function replyOf(
  { id, thread_id }: Pick<RunRow, 'id' | 'thread_id'>,
  status: ReplyStatus,
  parts: readonly string[],
): CallToolResult {
  const said = parts.filter((text) => text !== '');
  return {
    content: (said.length === 0 ? [''] : said).map((text) => ({ type: 'text' as const, text })),
    structuredContent: { run_id: id, thread_id, status },
    ...(status === 'failed' || status === 'cancelled' ? { isError: true } : {}),
  };
}

/** No turn has begun, or there is none such. */
export function refusalResult(
  { code, message }: Pick<ApiError, 'code' | 'message'>,
  threadId: string | undefined,
): CallToolResult {
  return {
    content: [{ type: 'text', text: message }],
    structuredContent: { run_id: null, thread_id: threadId ?? null, status: 'failed' },
    isError: true,
    _meta: { [CODE_KEY]: code },
  };
}

/** Arguments that no tool takes. */
export function invalidArguments(problem: string): CallToolResult {
  return refusalResult({ code: 'invalid_input', message: problem }, undefined);
}
