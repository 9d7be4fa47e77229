/** A response: one segment of a run, in the OpenAI dialect. */
import type { Static } from 'typebox';
import { deletedReply, openAiListOf, openAiPageQuery } from '../../../kernel/http/openai-paging.ts';
import {
  boundedObject,
  component,
  failsWith,
  jsonObject,
  MAX_JSON_BYTES,
  missingFailsWith,
  nullable,
} from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { MAX_DIALECT_METADATA_BYTES } from '../../configuration/schema.ts';

const INVALID_INPUT = { ...failsWith('invalid_input'), ...missingFailsWith('invalid_input') };

const optional = <T extends Parameters<typeof nullable>[0]>(schema: T, options = {}) =>
  Type.Optional(nullable(schema, options));

export const ResponseIn = component(
  'ResponseIn',
  Type.Object({
    input: Type.Unsafe<string | Record<string, unknown>[]>({
      type: ['string', 'array'],
      items: { type: 'object', additionalProperties: true, ...failsWith('invalid_input') },
      description:
        'Text, or items: `message`, `function_call`, `function_call_output`, `mcp_approval_response`, ' +
        '`item_reference`, `mcp_call`, `mcp_list_tools`. Reasoning and searches that this server made are taken and not used.',
      ...INVALID_INPUT,
    }),
    model: optional(Type.String({ maxLength: 256 }), {
      description: 'Instead of the smith’s; empty, `default` or `ironcraft` for the smith’s own.',
    }),
    instructions: optional(Type.String({ maxLength: 200_000 }), {
      description: 'Appended to the smith’s, for this response.',
    }),
    tools: Type.Optional(
      Type.Unsafe<unknown>({
        description:
          '`function`: the caller runs it and answers with `function_call_output`. `file_search`. `mcp`: a server whose tools are ' +
          'called from here, with `server_label`, `server_url`, `authorization`, `headers`, `allowed_tools`, `require_approval` ' +
          '(`always` when absent) and `server_description`. What `authorization` and `headers` hold is never shown again.',
      }),
    ),
    tool_choice: Type.Optional(
      Type.Unsafe<unknown>({ description: '`auto`, `none`, `required`, or an object that names a tool.' }),
    ),
    text: optional(jsonObject(), {
      description: '`{format}`: `text`, `json_object`, or `json_schema` with its `schema`, which is enforced.',
    }),
    reasoning: optional(jsonObject({ [MAX_JSON_BYTES]: 16_384 }), { description: '`{effort}`.' }),
    metadata: optional(boundedObject({ members: 100, bytes: MAX_DIALECT_METADATA_BYTES })),
    stream: optional(Type.Boolean()),
    background: optional(Type.Boolean(), {
      description: 'Answer at once; the response goes on, to be retrieved, streamed or cancelled.',
    }),
    store: optional(Type.Boolean(), { description: 'False: not to be retrieved later. True when absent.' }),
    previous_response_id: optional(Type.String({ maxLength: 128 })),
    conversation: Type.Optional(
      Type.Unsafe<string | { id?: unknown } | null>({
        type: ['string', 'object', 'null'],
        maxLength: 256,
        [MAX_JSON_BYTES]: 4_096,
        description: 'Id of the conversation that the response goes on, or an object with it as `id`.',
        ...failsWith('invalid_input'),
      }),
    ),
    max_output_tokens: optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
    temperature: optional(Type.Number({ minimum: 0, maximum: 2 })),
    top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
    include: optional(Type.Array(Type.String({ maxLength: 128 }), { maxItems: 32 }), {
      description: '`file_search_call.results`; others are not used, and the header `IC-Warnings` says so.',
    }),
    parallel_tool_calls: optional(Type.Boolean(), { description: 'Taken and not used.' }),
    truncation: optional(Type.String({ maxLength: 64 }), {
      description: 'Taken and not used: what no longer fits is summarized.',
    }),
    user: optional(Type.String({ maxLength: 512 }), { description: 'External id of the smith, with a tenant token.' }),
  }),
);

const RESPONSE_STATUSES = ['in_progress', 'completed', 'incomplete', 'failed', 'cancelled'] as const;

/** Items and events are a union that grows: what is common to all of it is named, the rest is as the dialect has it. */
export const ResponseItem = component(
  'ResponseItem',
  Type.Object(
    {
      id: Type.String(),
      type: Type.String({
        description:
          'In the output: message, reasoning, function_call, file_search_call, mcp_list_tools, mcp_call, mcp_approval_request. In the input also ' +
          'function_call_output and mcp_approval_response.',
      }),
    },
    { additionalProperties: true },
  ),
);

export const Response = component(
  'Response',
  Type.Object(
    {
      id: Type.String(),
      object: Type.Literal('response'),
      created_at: Type.Integer({ description: 'Unix seconds.' }),
      status: Type.String({ description: RESPONSE_STATUSES.join(', ') }),
      model: Type.String(),
      output: Type.Array(ResponseItem, { description: 'Empty until the response has ended.' }),
      error: Type.Unsafe<{ code: string; type: string; message: string } | null>({
        type: ['object', 'null'],
        required: ['code', 'type', 'message'],
        properties: { code: { type: 'string' }, type: { type: 'string' }, message: { type: 'string' } },
      }),
      incomplete_details: Type.Unsafe<{ reason: string } | null>({
        type: ['object', 'null'],
        required: ['reason'],
        properties: { reason: { type: 'string', description: 'max_output_tokens or content_filter.' } },
      }),
      usage: Type.Unsafe<Record<string, unknown> | null>({ type: ['object', 'null'], additionalProperties: true }),
    },
    { additionalProperties: true },
  ),
);

export const ResponsePath = Type.Object({ id: Type.String() });

export const ResponseQuery = Type.Object({
  stream: Type.Optional(Type.Boolean({ default: false, description: 'Its events instead, from the first.' })),
  starting_after: Type.Optional(
    Type.Integer({ minimum: 0, description: 'With `stream`: only the events behind this `sequence_number`.' }),
  ),
});

export const InputItemQuery = Type.Object(openAiPageQuery);
export const ResponseItemList = openAiListOf(ResponseItem);
export const ResponseDeleted = component('ResponseDeleted', deletedReply('response'));

export type ResponseIn = Static<typeof ResponseIn>;
export type Response = Static<typeof Response>;
export type ResponsePath = Static<typeof ResponsePath>;
export type ResponseQuery = Static<typeof ResponseQuery>;
export type InputItemQuery = Static<typeof InputItemQuery>;
