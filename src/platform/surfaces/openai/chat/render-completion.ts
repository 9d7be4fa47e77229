/** The members that buffered and streamed completions have in common. */
import { suffixOf } from '../../../../kernel/ids/ids.ts';
import type { RunRow } from '../../../engine/index.ts';
import type { Citation } from '../../collect-answer.ts';
import type { Answered, FunctionCall, PendingApproval } from '../../read-answer.ts';
import type { Segment, Usage } from '../../segment.ts';

/** A completion in one piece. */
export interface ChatCompletion extends CompletionHead {
  readonly object: 'chat.completion';
  readonly choices: CompletionChoice[];
  readonly usage: CompletionUsage;
  readonly ironcraft: CompletionTurn;
}

interface CompletionChoice {
  readonly index: number;
  readonly message: {
    readonly role: 'assistant';
    readonly content: string | null;
    readonly refusal: string | null;
    readonly reasoning_content?: string;
    readonly tool_calls?: ReturnType<typeof renderCall>[];
    readonly annotations?: UrlCitation[];
  };
  readonly logprobs: null;
  readonly finish_reason: Answered['finishReason'];
}

interface CompletionUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
  readonly completion_tokens_details: { readonly reasoning_tokens: number };
}

/** The run behind the completion. */
interface CompletionTurn {
  readonly run_id: string;
  readonly smith_id: string;
  readonly thread_id: string;
  readonly status: Answered['status'];
  readonly approval_ids: string[];
}

interface UrlCitation {
  readonly type: 'url_citation';
  readonly url_citation: {
    readonly start_index: number;
    readonly end_index: number;
    readonly title: string;
    readonly url: string;
    readonly file_id: string;
  };
}

export interface CompletionHead {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

/** The same however often the completion is read. */
export function headOf({ run, number }: Segment): CompletionHead {
  return {
    id: `chatcmpl-${suffixOf(run.id)}${number === 1 ? '' : `-${number}`}`,
    created: Math.floor(run.created_at.getTime() / 1000),
    model: run.config.model,
  };
}

/** The header that names the run, on every answer that has one. */
export function headersOf(run: RunRow): Record<string, string> {
  return { 'ic-run-id': run.id };
}

export function renderTurn(run: RunRow, { status, approvals }: Answered): CompletionTurn {
  return {
    run_id: run.id,
    smith_id: run.smith_id,
    thread_id: run.thread_id,
    status,
    approval_ids: approvals.map(({ id }) => id),
  };
}

export function renderCall({ id, name, arguments: args }: FunctionCall) {
  return { id, type: 'function' as const, function: { name, arguments: JSON.stringify(args) } };
}

export function renderUsage(usage: Usage): CompletionUsage {
  const { inputTokens, outputTokens } = usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedInputTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}

/**
 * What a client that knows nothing of approvals is told when there is nothing for it to do. Undefined where the answer
 * needs no such word.
 */
export function describeApprovals({ calls, approvals }: Answered): string | undefined {
  if (approvals.length === 0 || calls.length > 0) return undefined;
  return `Waiting for approval of ${approvals.map(describeApproval).join(', ')}.`;
}

function describeApproval({ id, tool }: PendingApproval): string {
  return `${tool} (${id})`;
}

/** Citations of files, in the one form that the dialect's clients take: an address. */
export function renderAnnotations(citations: readonly Citation[], publicUrl: string): UrlCitation[] {
  return citations.map(({ start, end, fileId, filename }) => ({
    type: 'url_citation',
    url_citation: {
      start_index: start,
      end_index: end,
      title: filename,
      url: new URL(`/v1/files/${fileId}/content`, publicUrl).href,
      file_id: fileId,
    },
  }));
}
