/** The settings that agents and smiths share, as requests may give them. Null means "not set here". */
import type { Static } from 'typebox';
import {
  boundedObject,
  closedObject,
  component,
  failsWith,
  jsonObject,
  missingFailsWith,
  nullable,
  oneOf,
} from '../../kernel/http/schema.ts';
import { Type } from '../../kernel/http/type-builder.ts';

import { MAX_INSTRUCTIONS_BYTES } from './render-instructions.ts';

const MAX_INSTRUCTIONS_LENGTH = 200_000;
const MAX_METADATA_MEMBERS = 100;
/** Of JSON in UTF-8. */
export const MAX_METADATA_BYTES = 16_384;
/**
 * Of the metadata of OpenAI's objects, whose own limit is 16 pairs of up to 64 and 512 characters: in no script and with no
 * escapes are they larger.
 */
export const MAX_DIALECT_METADATA_BYTES = 65_536;
const MAX_VARIABLES = 100;
/** Versions and revisions are 32-bit counters. */
export const MAX_VERSION = 2_147_483_647;

const name = Type.String({ minLength: 1, maxLength: 128 });
const names = Type.Array(name, { maxItems: 100, uniqueItems: true });

export const versionNumber = Type.Integer({ minimum: 1, maximum: MAX_VERSION });

export const SkillRef = component(
  'SkillRef',
  closedObject({
    skill_id: Type.String({ minLength: 1, maxLength: 64 }),
    version: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_VERSION,
        description: 'Absent: the skill’s default version of the moment.',
      }),
    ),
  }),
);

/** Members of AgentIn, AgentPatch, SmithCreate and SmithPatch alike. */
export const configFields = {
  model: Type.Optional(
    nullable(Type.String({ minLength: 1, maxLength: 200 }), { description: '`provider/model`, e.g. `builtin/demo`.' }),
  ),
  instructions: Type.Optional(
    nullable(Type.String({ maxLength: MAX_INSTRUCTIONS_LENGTH }), {
      description:
        'The system prompt. `{{name}}` is filled from the smith’s metadata, then the variable’s default; the whole has at ' +
        `most ${MAX_INSTRUCTIONS_BYTES} bytes in UTF-8, before and after.`,
    }),
  ),
  enabled_hosted_tools: Type.Optional(
    nullable(names, { description: 'Tools that the server itself runs; listed at `GET /v1/tenant/hosted_tools`.' }),
  ),
  vector_store_ids: Type.Optional(nullable(names, { description: 'Vector stores that the turn may search.' })),
  mcp_servers: Type.Optional(
    nullable(names, { description: 'Names of registered MCP servers that the turn may call.' }),
  ),
  skills: Type.Optional(nullable(Type.Array(SkillRef, { maxItems: 50 }))),
  auto_memory: Type.Optional(
    nullable(Type.Boolean(), { description: 'Whether turns recall and keep memories by themselves.' }),
  ),
  memory_consolidation: Type.Optional(
    nullable(Type.Boolean(), { description: 'Whether kept memories are merged in the background.' }),
  ),
};

export const metadataField = boundedObject(
  { members: MAX_METADATA_MEMBERS, bytes: MAX_METADATA_BYTES },
  'Yours to set; also fills the variables of the instructions.',
);

/** The same settings, all present, as replies show them. */
export const configReplyFields = {
  model: Type.String(),
  instructions: Type.String(),
  enabled_hosted_tools: Type.Array(Type.String()),
  vector_store_ids: Type.Array(Type.String()),
  mcp_servers: nullable(Type.Array(Type.String())),
  skills: Type.Array(SkillRef),
  auto_memory: Type.Boolean(),
  memory_consolidation: Type.Boolean(),
};

export const AgentVariable = component(
  'AgentVariable',
  closedObject({
    name: Type.String({
      pattern: '^[A-Za-z_][A-Za-z0-9_]{0,63}$',
      ...failsWith('invalid_variables'),
      ...missingFailsWith('invalid_variables'),
    }),
    default: Type.Optional(nullable(Type.String({ maxLength: 10_000 }))),
    description: Type.Optional(nullable(Type.String({ maxLength: 2_000 }))),
    required: Type.Optional(
      Type.Boolean({ default: false, description: 'A turn is refused while neither metadata nor default fills it.' }),
    ),
  }),
);

export const variablesField = Type.Optional(nullable(Type.Array(AgentVariable, { maxItems: MAX_VARIABLES })));

const origins = Type.Array(Type.String());

export const UiResource = component(
  'UiResource',
  Type.Object({
    name: Type.String(),
    content_hash: Type.String({ description: 'SHA-256 of the document, which is its `ETag` too.' }),
    csp: nullable(
      Type.Object({
        connectDomains: origins,
        resourceDomains: origins,
        frameDomains: origins,
        baseUriDomains: origins,
      }),
    ),
    permissions: nullable(jsonObject()),
    prefers_border: nullable(Type.Boolean()),
    domain: nullable(Type.String()),
    tool: nullable(
      Type.Object({
        description: Type.String(),
        input_schema: jsonObject(),
        instruction: nullable(Type.String()),
        mutating: Type.Boolean(),
        visibility: Type.Array(oneOf(['model', 'app'])),
      }),
    ),
  }),
);

export type SkillRef = Static<typeof SkillRef>;
export type UiResource = Static<typeof UiResource>;
