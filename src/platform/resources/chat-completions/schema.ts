import type { Static } from 'typebox';
import {
  boundedObject,
  component,
  failsWith,
  jsonObject,
  missingFailsWith,
  nullable,
  oneOf,
} from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { MAX_DIALECT_METADATA_BYTES } from '../../configuration/schema.ts';

const MAX_MODEL_CHARACTERS = 256;
const MAX_OUTPUT_TOKENS = 1_000_000;
const MAX_STOPS = 8;
const MAX_STOP_CHARACTERS = 200;
const MAX_METADATA = 100;
const MAX_ID_CHARACTERS = 256;
const MAX_USER_CHARACTERS = 512;

const INVALID_INPUT = failsWith('invalid_input');
const limit = (description: string) =>
  Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: MAX_OUTPUT_TOKENS }), { description }));

/** Members that are read elsewhere (src/platform/openai), which refuses them with codes of their own. */
const readElsewhere = (description: string) => Type.Optional(Type.Unsafe<unknown>({ description }));

export const ChatCompletionIn = component(
  'ChatCompletionIn',
  Type.Object({
    messages: Type.Array(jsonObject(INVALID_INPUT), {
      minItems: 1,
      description:
        'The conversation so far, or with `conversation` what is new in it. System and developer messages at the ' +
        'beginning are appended to the smith’s instructions for this turn. Messages that end with the results of tools go ' +
        'on with the run that waits for them.',
      ...INVALID_INPUT,
      ...missingFailsWith('invalid_input'),
    }),
    model: Type.Optional(
      nullable(Type.String({ maxLength: MAX_MODEL_CHARACTERS }), {
        description:
          'Instead of the smith’s: `provider/model`, or the bare name of one model of the catalogue. `ironcraft`, `default` ' +
          'and an empty string stand for the smith’s own.',
      }),
    ),
    stream: Type.Optional(nullable(Type.Boolean())),
    stream_options: Type.Optional(
      nullable(Type.Object({ include_usage: Type.Optional(nullable(Type.Boolean())) }), {
        description: '`include_usage`: one more chunk, with the usage.',
      }),
    ),
    conversation: Type.Optional(
      Type.Unsafe<string | { id: string } | null>({
        type: ['string', 'object', 'null'],
        maxLength: MAX_ID_CHARACTERS,
        properties: { id: { type: 'string', maxLength: MAX_ID_CHARACTERS } },
        required: ['id'],
        description: 'A `cnv_` id, or `{id}`: the turn runs in that conversation, and `messages` holds what is new.',
      }),
    ),
    tools: readElsewhere(
      'Functions that the caller runs, `{type: "file_search"}`, and servers of `{type: "mcp"}` as on `POST /v1/responses`.',
    ),
    tool_choice: readElsewhere('`auto`, `none`, `required`, a named function, an `mcp` server, or `allowed_tools`.'),
    response_format: readElsewhere('`text`, `json_object` or `json_schema`; enforced.'),
    reasoning_effort: readElsewhere('How much a reasoning model thinks.'),
    max_completion_tokens: limit('Tokens of one answer of the model, reasoning included.'),
    max_tokens: limit('The older name of `max_completion_tokens`.'),
    temperature: Type.Optional(nullable(Type.Number({ minimum: 0, maximum: 2 }))),
    top_p: Type.Optional(nullable(Type.Number({ minimum: 0, maximum: 1 }))),
    stop: Type.Optional(
      Type.Unsafe<string | string[] | null>({
        type: ['string', 'array', 'null'],
        minLength: 1,
        maxLength: MAX_STOP_CHARACTERS,
        maxItems: MAX_STOPS,
        items: { type: 'string', minLength: 1, maxLength: MAX_STOP_CHARACTERS },
      }),
    ),
    n: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 1 }), { description: 'A turn has one answer.' })),
    metadata: Type.Optional(nullable(boundedObject({ members: MAX_METADATA, bytes: MAX_DIALECT_METADATA_BYTES }))),
    user: Type.Optional(
      nullable(Type.String({ maxLength: MAX_USER_CHARACTERS }), {
        description: 'The external id of the smith’s end user.',
      }),
    ),
    store: Type.Optional(nullable(Type.Boolean())),
  }),
);

const ToolCall = Type.Object({
  id: Type.String(),
  type: Type.Literal('function'),
  function: Type.Object({ name: Type.String(), arguments: Type.String({ description: 'JSON text.' }) }),
});

const Annotation = Type.Object({
  type: Type.Literal('url_citation'),
  url_citation: Type.Object({
    start_index: Type.Integer(),
    end_index: Type.Integer(),
    title: Type.String({ description: 'The file’s name.' }),
    url: Type.String({ description: 'Where the file’s bytes are, for the same token.' }),
    file_id: Type.String(),
  }),
});

/** What the turn is in the native API. */
const TurnOfCompletion = Type.Object(
  {
    run_id: Type.String(),
    smith_id: Type.String(),
    thread_id: Type.String(),
    status: oneOf(['completed', 'paused']),
    approval_ids: Type.Array(Type.String(), { description: 'What a person is to decide before the run goes on.' }),
  },
  { description: 'The run behind the completion.' },
);

const CompletionUsage = Type.Object({
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  total_tokens: Type.Integer(),
  prompt_tokens_details: Type.Object({ cached_tokens: Type.Integer() }),
  completion_tokens_details: Type.Object({ reasoning_tokens: Type.Integer() }),
});

export const ChatCompletion = component(
  'ChatCompletion',
  Type.Object({
    id: Type.String(),
    object: Type.Literal('chat.completion'),
    created: Type.Integer(),
    model: Type.String({ description: 'The model that ran.' }),
    choices: Type.Array(
      Type.Object({
        index: Type.Integer(),
        message: Type.Object({
          role: Type.Literal('assistant'),
          content: nullable(Type.String()),
          refusal: nullable(Type.String()),
          reasoning_content: Type.Optional(Type.String()),
          tool_calls: Type.Optional(Type.Array(ToolCall)),
          annotations: Type.Optional(Type.Array(Annotation)),
        }),
        logprobs: Type.Null(),
        finish_reason: oneOf(['stop', 'length', 'tool_calls', 'content_filter']),
      }),
    ),
    usage: CompletionUsage,
    ironcraft: TurnOfCompletion,
  }),
);

/** The `data` of each event of a streamed completion; the last one is `[DONE]`. A failure is told as `{error}`. */
export const ChatCompletionChunk = component(
  'ChatCompletionChunk',
  Type.Object(
    {
      id: Type.String(),
      object: Type.Literal('chat.completion.chunk'),
      created: Type.Integer(),
      model: Type.String(),
      choices: Type.Array(
        Type.Object({
          index: Type.Integer(),
          delta: Type.Object({
            role: Type.Optional(Type.Literal('assistant')),
            content: Type.Optional(nullable(Type.String())),
            refusal: Type.Optional(nullable(Type.String())),
            reasoning_content: Type.Optional(Type.String()),
            tool_calls: Type.Optional(
              Type.Array(
                Type.Object({
                  index: Type.Integer(),
                  id: Type.Optional(Type.String()),
                  type: Type.Optional(Type.Literal('function')),
                  function: Type.Object({ name: Type.Optional(Type.String()), arguments: Type.String() }),
                }),
              ),
            ),
            annotations: Type.Optional(Type.Array(Annotation)),
          }),
          logprobs: Type.Null(),
          finish_reason: nullable(oneOf(['stop', 'length', 'tool_calls', 'content_filter'])),
        }),
        { description: 'Empty in the chunk that holds the usage.' },
      ),
      usage: Type.Optional(
        nullable(CompletionUsage, { description: 'With `stream_options.include_usage`: null but in the last chunk.' }),
      ),
      ironcraft: Type.Optional(TurnOfCompletion),
    },
    { description: 'What each event of the stream holds. The last event is `[DONE]`; a failure is told as `{error}`.' },
  ),
);

export type ChatCompletionIn = Static<typeof ChatCompletionIn>;
export type ChatCompletion = Static<typeof ChatCompletion>;
