/** A run: one turn of a smith. */
import type { Static } from 'typebox';
import {
  boundedObject,
  closedObject,
  component,
  failsWith,
  jsonObject,
  MAX_JSON_BYTES,
  missingFailsWith,
  nullable,
  oneOf,
  timestamp,
} from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { MAX_METADATA_BYTES } from '../../configuration/schema.ts';
import { MAX_THREAD_ID_CHARS } from '../../engine/index.ts';

const Actor = Type.Object({
  kind: oneOf(['smith', 'tenant', 'operator']),
  id: Type.String(),
  token_id: Type.String(),
  email: Type.String({ description: 'Empty for a machine.' }),
});

const ActorOrNull = Type.Unsafe<Static<typeof Actor> | null>({ ...Actor, type: ['object', 'null'] });

export const RUN_STATUSES = ['in_progress', 'paused', 'completed', 'failed', 'cancelled'] as const;

export const INVALID_INPUT = { ...failsWith('invalid_input'), ...missingFailsWith('invalid_input') };

export const InputMessage = component(
  'InputMessage',
  closedObject(
    {
      role: Type.String({ maxLength: 64, description: 'user, assistant, system or developer.', ...INVALID_INPUT }),
      content: Type.Unsafe<string | Record<string, unknown>[]>({
        type: ['string', 'array'],
        items: { type: 'object', additionalProperties: true, ...INVALID_INPUT },
        description: 'Text, or parts: text, image_url, input_image, input_file, input_audio.',
        ...INVALID_INPUT,
      }),
    },
    INVALID_INPUT,
  ),
);

export const ToolCall = component(
  'ToolCall',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    arguments: jsonObject(),
    status: oneOf(
      ['requires_approval', 'requires_result', 'requires_connection', 'executing', 'completed', 'failed', 'cancelled'],
      { description: 'cancelled: open when the run ended.' },
    ),
    approval_id: Type.Optional(Type.String({ description: 'The approval that gates the call.' })),
    connection: Type.Optional(
      Type.Object(
        { provider: Type.String(), mcp_server: Type.String(), authorize_url: Type.String() },
        {
          description:
            'The account that the call waits for. The user connects it at `authorize_url`, within ten minutes; later, ask for another link.',
        },
      ),
    ),
  }),
);

export const RunError = Type.Object({ code: Type.String(), message: Type.String() });
export const RunWarning = Type.Object({ code: Type.String(), message: Type.String() });
export const RunUsage = Type.Object({
  input_tokens: Type.Integer(),
  cached_input_tokens: Type.Integer({ description: 'Those of the input tokens that the provider had cached.' }),
  output_tokens: Type.Integer(),
  reasoning_tokens: Type.Integer({ description: 'Those of the output tokens that the model thought with.' }),
  total_tokens: Type.Integer(),
  cost: nullable(Type.Number(), {
    description: 'US dollars, exact to the millionth; null without a known price.',
  }),
});

export const Run = component(
  'Run',
  Type.Object({
    id: Type.String(),
    smith_id: Type.String(),
    thread_id: Type.String(),
    status: oneOf(RUN_STATUSES, {
      description: 'paused: waits for `submit`, see `output.tool_calls`. The last three are final.',
    }),
    channel: Type.String(),
    input: Type.Array(Type.Object({ role: Type.String(), content: Type.Unsafe<unknown>({}) })),
    output: Type.Unsafe<Record<string, unknown> | null>({
      type: ['object', 'null'],
      required: ['content', 'content_type', 'tool_calls', 'suggested_replies'],
      properties: {
        content: { type: 'string' },
        content_type: { type: 'string', enum: ['text/plain', 'application/json'] },
        tool_calls: { type: 'array', items: ToolCall, description: 'Every call of the turn so far.' },
        suggested_replies: { type: 'array', items: { type: 'string' } },
        annotations: {
          type: 'array',
          description: 'Where `content` cites a file that `file_search` found: `index` is the marker’s place in it.',
          items: {
            type: 'object',
            required: ['type', 'index', 'file_id', 'filename'],
            properties: {
              type: { type: 'string', enum: ['file_citation'] },
              index: { type: 'integer' },
              file_id: { type: 'string' },
              filename: { type: 'string' },
            },
          },
        },
      },
    }),
    stop_reason: nullable(Type.String(), {
      description: 'stop, length, content_filter, tool_calls (paused), cancelled or error; null while in progress.',
    }),
    warnings: Type.Array(RunWarning),
    error: nullable(RunError, { description: 'Why a failed run failed: a code of the error catalogue.' }),
    usage: nullable(RunUsage),
    metadata: jsonObject(),
    actor: ActorOrNull,
    app_id: nullable(Type.String(), {
      description: 'The app whose token began the run, also once it is disconnected.',
    }),
    created_at: nullable(timestamp()),
    updated_at: nullable(timestamp()),
  }),
);

const ClientTool = closedObject({
  type: Type.Optional(Type.Literal('function')),
  name: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
  description: Type.Optional(Type.String({ maxLength: 4_096 })),
  parameters: Type.Optional(jsonObject({ description: 'JSON Schema of the arguments.' })),
  strict: Type.Optional(Type.Boolean()),
  requires_approval: Type.Optional(
    Type.Boolean({ default: false, description: 'Pause for a person’s decision before the call goes to the client.' }),
  ),
});

const ToolChoice = Type.Unsafe<string | { name: string }>({
  anyOf: [
    { type: 'string', enum: ['auto', 'none', 'required'], ...failsWith('invalid_tool_choice') },
    {
      type: 'object',
      properties: { name: { type: 'string', maxLength: 128, ...failsWith('invalid_tool_choice') } },
      required: ['name'],
      additionalProperties: false,
    },
  ],
  ...failsWith('invalid_tool_choice'),
});

const threadId = Type.String({ minLength: 1, maxLength: MAX_THREAD_ID_CHARS });

export const RunIn = component(
  'RunIn',
  closedObject({
    // How many there may be is parse-input.ts's to say, with a code of its own.
    input: Type.Array(InputMessage, INVALID_INPUT),
    thread_id: Type.Optional(
      nullable(threadId, {
        description: 'The conversation: any printable text without control characters. A new one when left out.',
      }),
    ),
    stream: Type.Optional(Type.Boolean({ default: false })),
    channel: Type.Optional(Type.String({ minLength: 1, maxLength: 64, default: 'api' })),
    metadata: Type.Optional(boundedObject({ members: 100, bytes: MAX_METADATA_BYTES })),
    response_format: Type.Optional(
      nullable(jsonObject(), {
        description: '`{type: "text" | "json_object"}` or `{type: "json_schema", json_schema: {name, schema}}`.',
        ...failsWith('invalid_response_format'),
      }),
    ),
    model: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Instead of the smith’s.' })),
    instructions: Type.Optional(
      Type.String({ maxLength: 200_000, description: 'Appended to the smith’s, for this turn.' }),
    ),
    tools: Type.Optional(
      Type.Array(ClientTool, {
        maxItems: 128,
        description: 'Functions that the caller runs: the run pauses with the calls, `submit` brings the results.',
      }),
    ),
    tool_choice: Type.Optional(ToolChoice),
    reasoning_effort: Type.Optional(nullable(Type.String({ maxLength: 64, ...failsWith('invalid_reasoning_effort') }))),
    max_output_tokens: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 1_000_000 }))),
    temperature: Type.Optional(nullable(Type.Number({ minimum: 0, maximum: 2 }))),
    top_p: Type.Optional(nullable(Type.Number({ minimum: 0, maximum: 1 }))),
    stop: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 8 })),
  }),
);

const SUBMIT_KINDS = ['tool_result', 'approval'] as const;
/** Of a form that a person fills in, of JSON in UTF-8. */
const MAX_FORM_BYTES = 65_536;
const DECISIONS = ['approve', 'reject'] as const;

export const Submit = component(
  'Submit',
  closedObject({
    kind: oneOf(SUBMIT_KINDS, {
      description:
        '`tool_result`: the result of a client-side call (`tool_call_id`, `result`). ' +
        '`approval`: a decision on a gated call (`approval_id` or `tool_call_id`, or both of the same call; `decision`).',
      ...failsWith('invalid_kind'),
    }),
    tool_call_id: Type.Optional(nullable(Type.String({ maxLength: 256 }))),
    result: Type.Optional(nullable(jsonObject())),
    approval_id: Type.Optional(nullable(Type.String({ maxLength: 64 }))),
    decision: Type.Optional(nullable(oneOf(DECISIONS, failsWith('invalid_decision')))),
    content: Type.Optional(
      nullable(
        jsonObject({
          [MAX_JSON_BYTES]: MAX_FORM_BYTES,
          description: `What the person entered: the answer, where a question asked for it; beside any other decision it is told by \`approval.resolved\` alone. At most ${MAX_FORM_BYTES} bytes of JSON in UTF-8.`,
        }),
      ),
    ),
    actor: Type.Optional(nullable(Type.String({ maxLength: 256, description: 'Who decided, in your own words.' }))),
    reason: Type.Optional(nullable(Type.String({ maxLength: 4_000 }))),
    stream: Type.Optional(Type.Boolean({ default: false })),
  }),
);

export const RunReplayIn = component('RunReplayIn', closedObject({ stream: Type.Optional(nullable(Type.Boolean())) }));

export const RunCancelAck = component(
  'RunCancelAck',
  Type.Object({ id: Type.String(), status: Type.Literal('cancelled') }),
);

export const SmithPath = Type.Object({ sid: Type.String() });
export const RunPath = Type.Object({ sid: Type.String(), rid: Type.String() });

export type Run = Static<typeof Run>;
export type RunIn = Static<typeof RunIn>;
export type Submit = Static<typeof Submit>;
export type RunReplayIn = Static<typeof RunReplayIn>;
export type SmithPath = Static<typeof SmithPath>;
export type RunPath = Static<typeof RunPath>;
