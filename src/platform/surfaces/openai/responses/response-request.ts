/** What a request said, as runs.requests keeps it and the response shows it again. */
import type { RunRow } from '../../../engine/index.ts';
import type { JsonObject } from '../../../tables.ts';
import { withoutCredentials } from '../request-servers.ts';

export interface ResponseRequest extends JsonObject {
  /** Which segment of the run it began: the engine's to say. */
  readonly segment: number;
  /** Unix seconds. */
  readonly created_at: number;
  /** Members of the response that say what was asked for. */
  readonly echo: JsonObject;
  readonly include: readonly string[];
  /** The answers to a pause, as items; null where the run's own input is what was sent. */
  readonly answers: readonly JsonObject[] | null;
}

/** The members of a request that a response shows again. */
export interface RequestedResponse {
  readonly background?: boolean | null;
  readonly instructions?: string | null;
  readonly max_output_tokens?: number | null;
  readonly metadata?: JsonObject | null;
  readonly parallel_tool_calls?: boolean | null;
  readonly previous_response_id?: string | null;
  readonly reasoning?: JsonObject | null;
  readonly store?: boolean | null;
  readonly temperature?: number | null;
  readonly text?: JsonObject | null;
  readonly tool_choice?: unknown;
  readonly tools?: unknown;
  readonly top_p?: number | null;
  readonly truncation?: string | null;
  readonly user?: string | null;
  readonly include?: readonly string[] | null;
}

export const FILE_SEARCH_RESULTS = 'file_search_call.results';

export function describeRequest(
  body: RequestedResponse,
  options: {
    readonly nowMs: number;
    readonly conversationId: string | undefined;
    readonly answers: readonly JsonObject[] | null;
  },
): Omit<ResponseRequest, 'segment'> {
  const { conversationId } = options;
  return {
    created_at: Math.floor(options.nowMs / 1000),
    echo: {
      background: body.background ?? false,
      conversation: conversationId === undefined ? null : { id: conversationId },
      instructions: body.instructions ?? null,
      max_output_tokens: body.max_output_tokens ?? null,
      metadata: body.metadata ?? {},
      parallel_tool_calls: body.parallel_tool_calls ?? true,
      previous_response_id: body.previous_response_id ?? null,
      reasoning: { effort: body.reasoning?.effort ?? null, summary: body.reasoning?.summary ?? null },
      store: body.store ?? true,
      temperature: body.temperature ?? null,
      text: { ...body.text, format: body.text?.format ?? { type: 'text' } },
      tool_choice: body.tool_choice ?? 'auto',
      tools: withoutCredentials(body.tools),
      top_p: body.top_p ?? null,
      truncation: body.truncation ?? 'disabled',
      user: body.user ?? null,
    },
    include: body.include ?? [],
    answers: options.answers,
  };
}

/** The requests of a run that a response began. */
export function requestsOf(run: RunRow): readonly ResponseRequest[] {
  return run.requests as unknown as ResponseRequest[];
}

/** What began the segment, or, where somebody answered the pause by another way, the request before it. */
export function requestOfSegment(run: RunRow, segment: number): ResponseRequest | undefined {
  return requestsOf(run).findLast((request) => request.segment <= segment);
}
