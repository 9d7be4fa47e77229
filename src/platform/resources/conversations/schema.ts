/** A conversation: a thread of one smith under an id, and what was said in it as the OpenAI dialect's items. */
import type { Static } from 'typebox';
import { openAiListOf, openAiPageQuery } from '../../../kernel/http/openai-paging.ts';
import { component, jsonObject, nullable } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import type { JsonObject } from '../../tables.ts';

/** Items that one call may add. */
export const MAX_NEW_ITEMS = 20;
const MAX_TITLE_LENGTH = 512;
const MAX_METADATA_KEYS = 16;
const MAX_METADATA_KEY_LENGTH = 64;
const MAX_METADATA_VALUE_LENGTH = 512;

const title = Type.String({ maxLength: MAX_TITLE_LENGTH, description: 'Yours to set; the server never does.' });

const metadata = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: { type: 'string', maxLength: MAX_METADATA_VALUE_LENGTH },
  propertyNames: { maxLength: MAX_METADATA_KEY_LENGTH },
  maxProperties: MAX_METADATA_KEYS,
  description:
    `At most ${MAX_METADATA_KEYS} strings of at most ${MAX_METADATA_VALUE_LENGTH} characters, under names of at most ` +
    `${MAX_METADATA_KEY_LENGTH}.`,
});

const newItem = Type.Unsafe<JsonObject>({
  type: 'object',
  additionalProperties: true,
  description:
    '`message` (the type may be left out), `function_call`, `function_call_output` or `reasoning`, as the Responses ' +
    'surface takes them.',
});

export const Conversation = component(
  'Conversation',
  Type.Object({
    id: Type.String(),
    object: Type.Literal('conversation'),
    created_at: Type.Integer({ description: 'Unix seconds.' }),
    updated_at: Type.Integer({ description: 'Unix seconds; turns and added items count.' }),
    title: nullable(Type.String()),
    smith_id: Type.String(),
    metadata: Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' } }),
  }),
);

export const ConversationCreate = component(
  'ConversationCreate',
  Type.Object({
    title: Type.Optional(nullable(title)),
    metadata: Type.Optional(nullable(metadata)),
    items: Type.Optional(
      nullable(Type.Array(newItem, { maxItems: MAX_NEW_ITEMS }), { description: 'What the conversation begins with.' }),
    ),
    user: Type.Optional(
      nullable(
        Type.String({ maxLength: 512, description: 'The external id of the smith; ignored with a smith token.' }),
      ),
    ),
  }),
);

/** What is given is replaced as a whole; null clears. */
export const ConversationUpdate = component(
  'ConversationUpdate',
  Type.Object({ title: Type.Optional(nullable(title)), metadata: Type.Optional(nullable(metadata)) }),
);

const objects = (description: string) => Type.Optional(Type.Array(jsonObject(), { description }));
const text = (description: string) => Type.Optional(Type.String({ description }));

export const ConversationItem = component(
  'ConversationItem',
  Type.Object({
    id: Type.String(),
    type: Type.String({
      description: '`message`, `reasoning`, `function_call`, `function_call_output` or `file_search_call`.',
    }),
    role: text('Of a message: `user`, `assistant` or `system`.'),
    status: text('`completed`: what is listed has been said.'),
    content: objects('Of a message: `input_text`, `input_image`, `input_file`, `input_audio`, `output_text`.'),
    summary: objects('Of reasoning.'),
    call_id: text('Which call it is, or answers.'),
    name: text('Of a call: the function.'),
    arguments: text('Of a call: JSON.'),
    output: text('Of a function_call_output.'),
    server_label: text('Of a call to an MCP server.'),
    queries: Type.Optional(Type.Array(Type.String(), { description: 'Of a file_search_call.' })),
    results: Type.Optional(
      nullable(Type.Array(jsonObject()), { description: 'Of a file_search_call: not kept here.' }),
    ),
  }),
);

export const ConversationItemList = component('ConversationItemList', openAiListOf(ConversationItem));

export const ConversationItemsCreate = component(
  'ConversationItemsCreate',
  Type.Object({ items: Type.Array(newItem, { minItems: 1, maxItems: MAX_NEW_ITEMS }) }),
);

export const ConversationPath = Type.Object({ cnvId: Type.String() });
export const ConversationItemPath = Type.Object({ cnvId: Type.String(), itemId: Type.String() });
export const ConversationListQuery = Type.Object(openAiPageQuery);

export type Conversation = Static<typeof Conversation>;
export type ConversationCreate = Static<typeof ConversationCreate>;
export type ConversationUpdate = Static<typeof ConversationUpdate>;
export type ConversationItem = Static<typeof ConversationItem>;
export type ConversationItemList = Static<typeof ConversationItemList>;
export type ConversationItemsCreate = Static<typeof ConversationItemsCreate>;
export type ConversationPath = Static<typeof ConversationPath>;
export type ConversationItemPath = Static<typeof ConversationItemPath>;
export type ConversationListQuery = Static<typeof ConversationListQuery>;
