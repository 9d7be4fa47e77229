/** An agent: a configuration that smiths follow. The draft is edited freely; what smiths run are its published versions. */
import type { Static } from 'typebox';
import {
  closedObject,
  component,
  failsWith,
  missingFailsWith,
  nullable,
  timestamp,
} from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import {
  AgentVariable,
  configFields,
  SkillRef,
  UiResource,
  variablesField,
  versionNumber,
} from '../../configuration/schema.ts';

const MAX_NOTE_LENGTH = 2_000;
/** How many smiths one request may name; `all` has no limit. */
const MAX_ATTACHED_IDS = 1_000;

const name = Type.String({
  minLength: 1,
  maxLength: 200,
  ...failsWith('invalid_name'),
  ...missingFailsWith('name_required'),
});
const slug = Type.String({
  pattern: '^[a-z0-9][a-z0-9-]{0,62}$',
  description: 'A name of your own, once among live agents. `default` makes this the project’s default agent.',
  ...failsWith('invalid_slug'),
});
const text = nullable(Type.String());
const names = Type.Array(Type.String());

const AgentDraft = component(
  'AgentDraft',
  Type.Object({
    instructions: text,
    model: text,
    enabled_hosted_tools: names,
    vector_store_ids: names,
    mcp_servers: nullable(names),
    skills: Type.Array(SkillRef),
    auto_memory: nullable(Type.Boolean()),
    memory_consolidation: nullable(Type.Boolean()),
    variables: Type.Array(AgentVariable),
    ui_resources: Type.Array(UiResource),
  }),
);

export const Agent = component(
  'Agent',
  Type.Object({
    id: Type.String(),
    slug: text,
    name: Type.String(),
    is_default: Type.Boolean({ description: 'Whether smiths that are created without any setting follow it.' }),
    draft: AgentDraft,
    active_version: nullable(Type.Integer(), { description: 'What smiths run; null before the first publication.' }),
    rollout_version: nullable(Type.Integer(), { description: 'What `rollout_percent` of them run instead.' }),
    rollout_percent: Type.Integer({ minimum: 0, maximum: 100 }),
    smith_count: Type.Integer({ description: 'Live smiths that follow it.' }),
    last_activity_at: nullable(timestamp(), { description: 'When its newest run began.' }),
    created_at: nullable(timestamp()),
    updated_at: nullable(timestamp()),
  }),
);

const draftFields = { ...configFields, variables: variablesField };

export const AgentIn = component(
  'AgentIn',
  closedObject({ name, slug: Type.Optional(nullable(slug)), ...draftFields }),
);

export const AgentPatch = component(
  'AgentPatch',
  closedObject({ name: Type.Optional(nullable(name)), ...draftFields }),
);

export const AgentVersion = component(
  'AgentVersion',
  Type.Object({
    version: Type.Integer(),
    snapshot: AgentDraft,
    created_by: nullable(Type.String(), { description: 'The id of the token that published it.' }),
    note: text,
    created_at: nullable(timestamp()),
  }),
);

export const PublishIn = component(
  'PublishIn',
  closedObject({ note: Type.Optional(nullable(Type.String({ maxLength: MAX_NOTE_LENGTH }))) }),
);

export const RolloutIn = component(
  'RolloutIn',
  closedObject({
    version: versionNumber,
    percent: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 100,
        default: 100,
        description:
          'The share of the agent’s smiths that run the version from their next turn on; 100 makes it active.',
        ...failsWith('invalid_percent'),
      }),
    ),
  }),
);

const smithId = Type.String({ minLength: 1, maxLength: 64 });

export const AttachIn = component(
  'AttachIn',
  closedObject({
    all: Type.Optional(Type.Boolean({ default: false, description: 'Every live smith that follows no agent.' })),
    smith_ids: Type.Optional(
      nullable(Type.Array(smithId, { maxItems: MAX_ATTACHED_IDS }), {
        description: 'These smiths, from whatever agent they follow now.',
      }),
    ),
  }),
);

export const AttachOut = component(
  'AttachOut',
  Type.Object({
    attached: Type.Array(
      Type.Object({
        smith_id: Type.String(),
        override_keys: Type.Array(Type.String(), { description: 'Its own settings that differ from the agent’s.' }),
      }),
    ),
    count: Type.Integer(),
  }),
);

export const ImportIn = component('ImportIn', closedObject({ from_smith: smithId, name }));

export const AgentPath = Type.Object({ aid: Type.String() });

export type Agent = Static<typeof Agent>;
export type AgentIn = Static<typeof AgentIn>;
export type AgentPatch = Static<typeof AgentPatch>;
export type AgentVersion = Static<typeof AgentVersion>;
export type PublishIn = Static<typeof PublishIn>;
export type RolloutIn = Static<typeof RolloutIn>;
export type AttachIn = Static<typeof AttachIn>;
export type AttachOut = Static<typeof AttachOut>;
export type ImportIn = Static<typeof ImportIn>;
export type AgentPath = Static<typeof AgentPath>;
