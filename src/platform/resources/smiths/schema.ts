/** A smith: one agent instance of one end user. It runs an agent's configuration, its own, or its own over the agent's. */
import type { Static } from 'typebox';
import { pageQuery } from '../../../kernel/http/paging.ts';
import {
  closedObject,
  component,
  failsWith,
  jsonObject,
  nullable,
  oneOf,
  timestamp,
} from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { MAX_INSTRUCTIONS_BYTES } from '../../configuration/render-instructions.ts';
import { configFields, configReplyFields, metadataField, versionNumber } from '../../configuration/schema.ts';
import { MAX_EXTERNAL_ID_LENGTH } from '../../smiths/index.ts';

const MAX_NOTE_LENGTH = 2_000;

const id = Type.String({ minLength: 1, maxLength: 64 });

const profileFields = {
  display_name: Type.Optional(nullable(Type.String({ minLength: 1, maxLength: 200 }))),
  locale: Type.Optional(
    nullable(Type.String({ minLength: 1, maxLength: 100 }), { description: 'A BCP 47 tag, e.g. `pt-BR`.' }),
  ),
  timezone: Type.Optional(
    nullable(Type.String({ minLength: 1, maxLength: 100, ...failsWith('invalid_timezone') }), {
      description: 'An IANA time zone, e.g. `Europe/Berlin`.',
    }),
  ),
  customer_id: Type.Optional(nullable(id, { description: 'The customer on whose behalf the smith works.' })),
  metadata: Type.Optional(nullable(metadataField)),
};

export const Smith = component(
  'Smith',
  Type.Object({
    id: Type.String(),
    external_id: nullable(Type.String()),
    display_name: nullable(Type.String()),
    locale: nullable(Type.String()),
    timezone: nullable(Type.String()),
    customer_id: nullable(Type.String()),
    metadata: jsonObject(),
    ...configReplyFields,
    rendered_instructions: nullable(Type.String(), {
      description:
        'The instructions with their variables filled in; null while a required variable has no value, or where they would ' +
        `be larger than ${MAX_INSTRUCTIONS_BYTES} bytes.`,
    }),
    config_source: oneOf(['agent', 'override', 'custom'], {
      description: 'Whose settings these are: the agent’s alone, the smith’s own over the agent’s, or the smith’s own.',
    }),
    agent_id: nullable(Type.String()),
    agent_version: nullable(Type.Integer(), {
      description: 'The version of the agent that the next turn runs: the pin, else what the rollout gives this smith.',
    }),
    pin: nullable(Type.Integer()),
    override_keys: Type.Array(Type.String(), { description: 'The settings that hide the agent’s.' }),
    inherited: nullable(Type.Object(configReplyFields), {
      description: 'What the agent gives, before the smith’s own settings; null without an agent.',
    }),
    created_at: timestamp(),
  }),
);

export const SmithCreate = component(
  'SmithCreate',
  closedObject({
    external_id: Type.Optional(
      nullable(Type.String({ minLength: 1, maxLength: MAX_EXTERNAL_ID_LENGTH }), {
        description:
          'Your own id of the end user. A live smith with the same one and the same agent is returned as it is.',
      }),
    ),
    ...profileFields,
    agent_id: Type.Optional(
      nullable(id, {
        description:
          'The agent to follow. Without one, a smith that sets nothing of its own follows the project’s default agent ' +
          '(the one whose slug is `default`) if that is published; any other smith has its own configuration.',
      }),
    ),
    pin: Type.Optional(nullable(versionNumber, { description: 'Stay on this version of the agent.' })),
    ...configFields,
  }),
);

export const SmithPatch = component(
  'SmithPatch',
  closedObject({
    ...profileFields,
    agent_id: Type.Optional(
      nullable(id, { description: 'Another agent to follow; null: none, only the smith’s own settings stay.' }),
    ),
    pin: Type.Optional(
      nullable(versionNumber, { description: 'Stay on this version of the agent; moving to another agent clears it.' }),
    ),
    ...configFields,
  }),
);

export const SmithRevision = component(
  'SmithRevision',
  Type.Object({
    version: Type.Integer({ description: '1, 2, 3 … without gaps.' }),
    snapshot: Type.Object({
      display_name: nullable(Type.String()),
      locale: nullable(Type.String()),
      timezone: nullable(Type.String()),
      customer_id: nullable(Type.String()),
      metadata: jsonObject(),
      agent_id: nullable(Type.String()),
      pin: nullable(Type.Integer()),
      config: jsonObject({ description: 'The settings that the smith has of its own.' }),
    }),
    created_by: nullable(Type.String(), { description: 'The id of the token that made the change.' }),
    note: nullable(Type.String()),
    created_at: nullable(timestamp()),
  }),
);

export const RestoreIn = component(
  'RestoreIn',
  closedObject({ note: Type.Optional(nullable(Type.String({ maxLength: MAX_NOTE_LENGTH }))) }),
);

export const SmithPath = Type.Object({ sid: Type.String() });
export const RevisionPath = Type.Object({ sid: Type.String(), n: versionNumber });

const filter = Type.Optional(Type.String({ minLength: 1, maxLength: 512 }));

export const SmithQuery = Type.Object({
  external_id: filter,
  external_id_prefix: filter,
  customer_id: filter,
  agent_id: filter,
  ...pageQuery,
});

export type Smith = Static<typeof Smith>;
export type SmithCreate = Static<typeof SmithCreate>;
export type SmithPatch = Static<typeof SmithPatch>;
export type SmithRevision = Static<typeof SmithRevision>;
export type RestoreIn = Static<typeof RestoreIn>;
export type SmithPath = Static<typeof SmithPath>;
export type RevisionPath = Static<typeof RevisionPath>;
export type SmithQuery = Static<typeof SmithQuery>;
