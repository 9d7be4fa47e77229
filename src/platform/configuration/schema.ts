/** The settings that agents and smiths share, as requests may give them. Null means "not set here". */
import Type, { type Static } from 'typebox';
import { closedObject, component, jsonObject, nullable, oneOf } from '../../kernel/http/schema.ts';

export const MAX_INSTRUCTIONS_LENGTH = 200_000;
export const MAX_METADATA_MEMBERS = 100;

const name = Type.String({ minLength: 1, maxLength: 128 });
const names = Type.Array(name, { maxItems: 100, uniqueItems: true });

export const SkillRef = component(
  'SkillRef',
  closedObject({ skill_id: Type.String({ minLength: 1, maxLength: 64 }), version: Type.Integer({ minimum: 1 }) }),
);

/** Members of AgentIn, AgentPatch, SmithCreate and SmithPatch alike. */
export const configFields = {
  model: Type.Optional(
    nullable(Type.String({ minLength: 1, maxLength: 200 }), { description: '`provider/model`, e.g. `builtin/demo`.' }),
  ),
  instructions: Type.Optional(
    nullable(Type.String({ maxLength: MAX_INSTRUCTIONS_LENGTH }), {
      description: 'The system prompt. `{{name}}` is filled from the smith’s metadata, then the variable’s default.',
    }),
  ),
  enabled_hosted_tools: Type.Optional(nullable(names)),
  vector_store_ids: Type.Optional(nullable(names)),
  mcp_servers: Type.Optional(nullable(names)),
  skills: Type.Optional(nullable(Type.Array(SkillRef, { maxItems: 50 }))),
  auto_memory: Type.Optional(nullable(Type.Boolean())),
  memory_consolidation: Type.Optional(nullable(Type.Boolean())),
};

export const metadataField = jsonObject({
  maxProperties: MAX_METADATA_MEMBERS,
  description: `At most ${MAX_METADATA_MEMBERS} members; also fills the variables of the instructions.`,
});

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
    name: Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]{0,63}$' }),
    default: Type.Optional(nullable(Type.String({ maxLength: 10_000 }))),
    description: Type.Optional(nullable(Type.String({ maxLength: 2_000 }))),
    required: Type.Optional(Type.Boolean({ default: false })),
  }),
);

const Csp = Type.Unsafe<Record<string, string[]> | null>({
  type: ['object', 'null'],
  properties: Object.fromEntries(
    ['connectDomains', 'resourceDomains', 'frameDomains', 'baseUriDomains'].map((key) => [
      key,
      { type: 'array', items: { type: 'string' } },
    ]),
  ),
});

export const UiResource = component(
  'UiResource',
  Type.Object({
    name: Type.String(),
    content_hash: Type.String(),
    csp: Type.Optional(Csp),
    permissions: Type.Optional(nullable(jsonObject())),
    prefers_border: Type.Optional(nullable(Type.Boolean())),
    domain: Type.Optional(nullable(Type.String())),
    tool: Type.Optional(
      nullable(
        Type.Object({
          description: Type.String(),
          input_schema: Type.Optional(jsonObject()),
          instruction: Type.Optional(nullable(Type.String())),
          mutating: Type.Optional(Type.Boolean()),
          visibility: Type.Optional(Type.Array(oneOf(['model', 'app']))),
        }),
      ),
    ),
  }),
);

export type SkillRef = Static<typeof SkillRef>;
