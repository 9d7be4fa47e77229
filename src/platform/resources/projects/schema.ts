/** A project: one tenant. It holds agents, smiths and everything they make; an organization owns it. */
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
  timestamp,
} from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { MAX_TTL_SECONDS } from '../../access/issue-token.ts';
import { MAX_METADATA_BYTES } from '../../configuration/schema.ts';

const MAX_NAME_LENGTH = 200;

const name = Type.String({
  minLength: 1,
  maxLength: MAX_NAME_LENGTH,
  description: 'Unique among the live projects of the organization.',
  ...failsWith('invalid_name'),
  ...missingFailsWith('name_required'),
});

export const Project = component(
  'Project',
  Type.Object({
    id: Type.String(),
    organization: Type.String({ description: 'Id of the organization that owns it.' }),
    name: Type.String(),
    metadata: jsonObject(),
    created_at: nullable(timestamp()),
    archived_at: nullable(timestamp()),
  }),
);

export const ProjectIn = component(
  'ProjectIn',
  closedObject({ name, metadata: Type.Optional(nullable(boundedObject({ members: 50, bytes: MAX_METADATA_BYTES }))) }),
);

export const ProjectTokenIn = component(
  'ProjectTokenIn',
  closedObject({
    ttl_seconds: Type.Optional(
      nullable(Type.Integer({ minimum: 1, maximum: MAX_TTL_SECONDS }), {
        description: 'How long the token lives. Left out or null: until it is revoked.',
      }),
    ),
    name: Type.Optional(
      nullable(Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH, ...failsWith('invalid_name') }), {
        description: 'What the token is for, as lists show it.',
      }),
    ),
  }),
);

export const ProjectTokenOut = component(
  'ProjectTokenOut',
  Type.Object({
    id: Type.String(),
    token: Type.String({ description: 'Shown this once.' }),
    scope: oneOf(['admin']),
    sub: Type.String({ description: 'The project’s id.' }),
    scopes: Type.Array(Type.String()),
    expires_at: nullable(timestamp(), { description: 'Null: the token lives until it is revoked.' }),
  }),
);

export const ProjectPath = Type.Object({ pid: Type.String() });

export type Project = Static<typeof Project>;
export type ProjectIn = Static<typeof ProjectIn>;
export type ProjectTokenIn = Static<typeof ProjectTokenIn>;
export type ProjectTokenOut = Static<typeof ProjectTokenOut>;
export type ProjectPath = Static<typeof ProjectPath>;
