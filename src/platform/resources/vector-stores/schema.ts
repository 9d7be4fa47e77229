/** Vector stores, the files in them and batches of files, in the OpenAI dialect. */
import type { Static } from 'typebox';
import { deletedReply, openAiListOf, openAiPageQuery } from '../../../kernel/http/openai-paging.ts';
import { boundedObject, component, jsonObject, nullable, oneOf } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { MAX_DIALECT_METADATA_BYTES } from '../../configuration/schema.ts';

const MAX_STORE_FILES = 500;
const MAX_BATCH_FILES = 2_000;
const MIN_CHUNK_TOKENS = 100;
const MAX_CHUNK_TOKENS = 4_096;
const MAX_ATTRIBUTES = 16;
const MAX_ATTRIBUTE_KEY = 64;
const MAX_ATTRIBUTE_VALUE = 512;
const MAX_RESULTS = 50;
/** As one input of an embedding. */
const MAX_QUERY_CHARACTERS = 65_536;
const MAX_QUERIES = 100;

const unixSeconds = (description: string) => Type.Integer({ description: `${description} Unix seconds.` });
const bytes = Type.Integer({
  description: 'Bytes of the indexed text as UTF-8, and two for each number of its vectors.',
});

const id = Type.String({ minLength: 1, maxLength: 256 });
const name = Type.String({ maxLength: 256 });
const description = Type.String({ maxLength: 4_096 });
const metadata = boundedObject({ members: 50, bytes: MAX_DIALECT_METADATA_BYTES });

type Attributes = Record<string, string | number | boolean>;

const attributeValues = {
  type: 'object',
  maxProperties: MAX_ATTRIBUTES,
  propertyNames: { type: 'string', minLength: 1, maxLength: MAX_ATTRIBUTE_KEY },
  additionalProperties: { type: ['string', 'number', 'boolean'], maxLength: MAX_ATTRIBUTE_VALUE },
  description: `What searches can filter by: up to ${MAX_ATTRIBUTES} keys.`,
} as const;
const attributes = nullable(Type.Unsafe<Attributes>(attributeValues));
const shownAttributes = nullable(
  Type.Unsafe<Attributes>({ type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } }),
);

/** A union as one object: a mistake is told by the member at fault. The handler checks what goes with which type. */
export const ChunkingStrategyIn = component(
  'ChunkingStrategyIn',
  Type.Object(
    {
      type: oneOf(['auto', 'static']),
      static: Type.Optional(
        Type.Object({
          max_chunk_size_tokens: Type.Integer({ minimum: MIN_CHUNK_TOKENS, maximum: MAX_CHUNK_TOKENS }),
          chunk_overlap_tokens: Type.Integer({
            minimum: 0,
            description: 'Tokens that a chunk repeats of the one before; at most half of `max_chunk_size_tokens`.',
          }),
        }),
      ),
    },
    { description: '`auto` is 800 tokens with an overlap of 400. `static` needs the member `static`.' },
  ),
);

const ChunkingStrategyOut = component(
  'ChunkingStrategyOut',
  Type.Object({
    type: Type.Literal('static'),
    static: Type.Object({ max_chunk_size_tokens: Type.Integer(), chunk_overlap_tokens: Type.Integer() }),
  }),
);

const FileCounts = component(
  'VectorStoreFileCounts',
  Type.Object({
    in_progress: Type.Integer(),
    completed: Type.Integer(),
    failed: Type.Integer(),
    cancelled: Type.Integer(),
    total: Type.Integer(),
  }),
);

const MAX_EXPIRY_DAYS = 365;

const ExpiresAfter = component(
  'VectorStoreExpiresAfter',
  Type.Object(
    {
      anchor: Type.Literal('last_active_at'),
      days: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_EXPIRY_DAYS })),
      seconds: Type.Optional(Type.Integer({ minimum: 3_600, maximum: MAX_EXPIRY_DAYS * 86_400 })),
    },
    {
      description: 'The store ends when it has not been searched or changed for so long; one of `days` and `seconds`.',
    },
  ),
);

export const VectorStore = component(
  'VectorStore',
  Type.Object({
    id: Type.String(),
    object: Type.Literal('vector_store'),
    created_at: unixSeconds('When it was created.'),
    name: Type.String(),
    description: nullable(Type.String()),
    usage_bytes: bytes,
    status: oneOf(['in_progress', 'completed', 'expired'], {
      description: '`in_progress` while a file in it is; `expired` once its time is over: it holds nothing then.',
    }),
    file_counts: FileCounts,
    last_active_at: nullable(Type.Integer(), {
      description: 'When it was last searched, to the minute, or its files last changed. Unix seconds.',
    }),
    expires_after: Type.Optional(ExpiresAfter),
    expires_at: nullable(Type.Integer(), { description: 'When it ends unless it is used before. Unix seconds.' }),
    metadata: jsonObject(),
    smith_id: nullable(Type.String(), { description: 'The smith that it belongs to; null: the tenant’s.' }),
    embedding_model: Type.String({ description: 'Of every file in it, and of what is searched for.' }),
  }),
);

export const VectorStoreIn = component(
  'VectorStoreIn',
  Type.Object({
    name: Type.Optional(nullable(name)),
    description: Type.Optional(nullable(description)),
    file_ids: Type.Optional(nullable(Type.Array(id, { maxItems: MAX_STORE_FILES }))),
    chunking_strategy: Type.Optional(nullable(ChunkingStrategyIn)),
    metadata: Type.Optional(nullable(metadata)),
    expires_after: Type.Optional(nullable(ExpiresAfter)),
    smith_id: Type.Optional(nullable(id, { description: 'The smith that it is to belong to. A smith token’s own.' })),
    embedding_model: Type.Optional(
      nullable(Type.String({ minLength: 1, maxLength: 256 }), {
        description: '`provider/model`. Default `builtin/embed`, which needs no key. It stays as long as the store.',
      }),
    ),
  }),
);

export const VectorStorePatch = component(
  'VectorStorePatch',
  Type.Object({
    name: Type.Optional(nullable(name)),
    description: Type.Optional(nullable(description)),
    metadata: Type.Optional(nullable(metadata)),
    expires_after: Type.Optional(nullable(ExpiresAfter)),
  }),
);

export const VectorStoreDeleted = component('VectorStoreDeleted', deletedReply('vector_store.deleted'));

const FILE_STATUSES = ['in_progress', 'completed', 'failed', 'cancelled'] as const;

const IngestError = component(
  'VectorStoreFileError',
  Type.Object({
    code: oneOf(['server_error', 'unsupported_file', 'no_text_layer', 'invalid_file']),
    message: Type.String({ description: 'What is wrong with the file, or what to do next.' }),
  }),
);

export const VectorStoreFile = component(
  'VectorStoreFile',
  Type.Object({
    id: Type.String({ description: 'The file’s id.' }),
    object: Type.Literal('vector_store.file'),
    usage_bytes: bytes,
    created_at: unixSeconds('When it was added.'),
    vector_store_id: Type.String(),
    status: oneOf(FILE_STATUSES),
    last_error: nullable(IngestError),
    chunking_strategy: ChunkingStrategyOut,
    attributes: shownAttributes,
  }),
);

export const VectorStoreFileIn = component(
  'VectorStoreFileIn',
  Type.Object({
    file_id: id,
    attributes: Type.Optional(attributes),
    chunking_strategy: Type.Optional(nullable(ChunkingStrategyIn)),
  }),
);

export const VectorStoreFileUpdate = component(
  'VectorStoreFileUpdate',
  Type.Object({ attributes: nullable(Type.Unsafe<Attributes>(attributeValues), { description: 'Null: none.' }) }),
);

export const VectorStoreFileDeleted = component('VectorStoreFileDeleted', deletedReply('vector_store.file.deleted'));

export const VectorStoreFileContent = component(
  'VectorStoreFileContent',
  Type.Object({
    object: Type.Literal('vector_store.file_content.page'),
    data: Type.Array(Type.Object({ type: Type.Literal('text'), text: Type.String() })),
    has_more: Type.Literal(false),
    next_page: Type.Null(),
  }),
);

export const VectorStoreFileBatch = component(
  'VectorStoreFileBatch',
  Type.Object({
    id: Type.String(),
    object: Type.Literal('vector_store.files_batch'),
    created_at: unixSeconds('When it was created.'),
    vector_store_id: Type.String(),
    status: oneOf(['in_progress', 'completed', 'cancelled', 'failed'], {
      description: '`failed`: every file of it failed. `completed`: none is in progress, and not every one failed.',
    }),
    file_counts: FileCounts,
  }),
);

const batchFile = VectorStoreFileIn;

export const VectorStoreFileBatchIn = component(
  'VectorStoreFileBatchIn',
  Type.Object(
    {
      file_ids: Type.Optional(nullable(Type.Array(id, { minItems: 1, maxItems: MAX_BATCH_FILES }))),
      files: Type.Optional(nullable(Type.Array(batchFile, { minItems: 1, maxItems: MAX_BATCH_FILES }))),
      attributes: Type.Optional(attributes),
      chunking_strategy: Type.Optional(nullable(ChunkingStrategyIn)),
    },
    {
      description:
        'Either `file_ids`, or `files` with settings of their own. `attributes` and `chunking_strategy` hold for the files ' +
        'that have none.',
    },
  ),
);

export const VectorStoreSearchIn = component(
  'VectorStoreSearchIn',
  Type.Object({
    query: Type.Unsafe<string | string[]>({
      type: ['string', 'array'],
      minLength: 1,
      maxLength: MAX_QUERY_CHARACTERS,
      minItems: 1,
      maxItems: MAX_QUERIES,
      items: { type: 'string', minLength: 1, maxLength: MAX_QUERY_CHARACTERS },
      description:
        `What to look for: one text of up to ${MAX_QUERY_CHARACTERS} characters, or up to ${MAX_QUERIES} that are searched ` +
        'together.',
    }),
    max_num_results: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_RESULTS, default: 10 })),
    filters: Type.Optional(
      nullable(jsonObject(), {
        description:
          '`{type: eq|ne|gt|gte|lt|lte|in|nin, key, value}`, or `{type: and|or, filters}`, by the files’ attributes.',
      }),
    ),
    ranking_options: Type.Optional(
      Type.Object({
        ranker: Type.Optional(Type.String({ maxLength: 256, description: 'Taken and ignored: there is one ranker.' })),
        score_threshold: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
        hybrid_search: Type.Optional(
          Type.Object({ embedding_weight: Type.Number({ minimum: 0 }), text_weight: Type.Number({ minimum: 0 }) }),
        ),
      }),
    ),
    rewrite_query: Type.Optional(Type.Boolean({ description: 'Taken and ignored: the query is used as it is.' })),
    page: Type.Optional(
      nullable(Type.String({ maxLength: 256 }), {
        description: 'The `next_page` of the answer before, for the same search.',
      }),
    ),
  }),
);

export const VectorStoreSearchOut = component(
  'VectorStoreSearchOut',
  Type.Object({
    object: Type.Literal('vector_store.search_results.page'),
    search_query: Type.Array(Type.String()),
    data: Type.Array(
      Type.Object({
        file_id: Type.String(),
        filename: Type.String(),
        score: Type.Number({ description: '0 to 1, the best first.' }),
        attributes: shownAttributes,
        content: Type.Array(Type.Object({ type: Type.Literal('text'), text: Type.String() })),
      }),
    ),
    has_more: Type.Boolean(),
    next_page: nullable(Type.String(), { description: 'Send it as `page` for the results behind these.' }),
  }),
);

export const VectorStoreList = openAiListOf(VectorStore);
export const VectorStoreFileList = openAiListOf(VectorStoreFile);

export const VectorStorePath = Type.Object({ vsId: Type.String() });
export const VectorStoreFilePath = Type.Object({ vsId: Type.String(), fid: Type.String() });
export const VectorStoreBatchPath = Type.Object({ vsId: Type.String(), bid: Type.String() });

export const StoreListQuery = Type.Object(openAiPageQuery);
export const FileListQuery = Type.Object({
  ...openAiPageQuery,
  filter: Type.Optional(oneOf(FILE_STATUSES, { description: 'Files of this status only.' })),
});

export type ChunkingStrategyIn = Static<typeof ChunkingStrategyIn>;
export type FileCounts = Static<typeof FileCounts>;
export type VectorStore = Static<typeof VectorStore>;
export type VectorStoreIn = Static<typeof VectorStoreIn>;
export type VectorStorePatch = Static<typeof VectorStorePatch>;
export type VectorStoreFile = Static<typeof VectorStoreFile>;
export type VectorStoreFileIn = Static<typeof VectorStoreFileIn>;
export type VectorStoreFileUpdate = Static<typeof VectorStoreFileUpdate>;
export type VectorStoreFileBatch = Static<typeof VectorStoreFileBatch>;
export type VectorStoreFileBatchIn = Static<typeof VectorStoreFileBatchIn>;
export type VectorStoreSearchIn = Static<typeof VectorStoreSearchIn>;
export type VectorStoreSearchOut = Static<typeof VectorStoreSearchOut>;
export type VectorStorePath = Static<typeof VectorStorePath>;
export type VectorStoreFilePath = Static<typeof VectorStoreFilePath>;
export type VectorStoreBatchPath = Static<typeof VectorStoreBatchPath>;
export type StoreListQuery = Static<typeof StoreListQuery>;
export type FileListQuery = Static<typeof FileListQuery>;
export type ExpiresAfter = Static<typeof ExpiresAfter>;
