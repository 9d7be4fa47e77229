/** Tokens of a project: tenant-admin tokens for servers, smith tokens for browsers and devices. */
import type { Static } from 'typebox';
import {
  closedObject,
  component,
  failsWith,
  missingFailsWith,
  nullable,
  oneOf,
  timestamp,
} from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { DEFAULT_SMITH_TTL_SECONDS, MAX_SMITH_TTL_SECONDS, MAX_TTL_SECONDS } from '../../access/issue-token.ts';
import { SCOPES } from '../../access/scopes.ts';

const MAX_NAME_LENGTH = 200;

const scopes = ['smith', 'admin'] as const;

export const TokenIn = component(
  'TokenIn',
  closedObject({
    scope: oneOf(scopes, {
      description: '`admin`: the whole project. `smith`: one smith.',
      ...failsWith('invalid_token_scope'),
      ...missingFailsWith('invalid_token_scope'),
    }),
    smith_id: Type.Optional(
      nullable(Type.String({ maxLength: 128 }), { description: 'The smith that the token is bound to.' }),
    ),
    permissions: Type.Optional(
      nullable(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 2 * SCOPES.length }), {
        description: `Required for a smith token, and refused for an admin token, which carries \`tenant:*\`. Any of: ${SCOPES.join(', ')}.`,
      }),
    ),
    ttl_seconds: Type.Optional(
      nullable(Type.Integer({ minimum: 1, maximum: MAX_TTL_SECONDS }), {
        description:
          `How long the token lives. A smith token: at most ${MAX_SMITH_TTL_SECONDS} (24 hours), ` +
          `${DEFAULT_SMITH_TTL_SECONDS} when left out. An admin token: until it is revoked when left out.`,
      }),
    ),
    name: Type.Optional(
      nullable(Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH, ...failsWith('invalid_name') }), {
        description: 'What the token is for, as lists show it.',
      }),
    ),
  }),
);

const describedFields = {
  id: Type.String(),
  scope: oneOf(scopes),
  sub: Type.String({ description: 'The project’s id; of a smith token, `<project>:<smith>`.' }),
  scopes: Type.Array(Type.String(), { description: 'What the token carries: `tenant:*`, or the permissions.' }),
  name: nullable(Type.String()),
  expires_at: nullable(timestamp(), { description: 'Null: the token lives until it is revoked.' }),
};

export const TokenCreated = component(
  'TokenCreated',
  Type.Object({ ...describedFields, token: Type.String({ description: 'Shown this once.' }) }),
);

export const Token = component(
  'Token',
  Type.Object({ ...describedFields, created_at: timestamp(), revoked_at: nullable(timestamp()) }),
);

export const TokenPath = Type.Object({ tid: Type.String() });

export type TokenIn = Static<typeof TokenIn>;
export type TokenCreated = Static<typeof TokenCreated>;
export type Token = Static<typeof Token>;
export type TokenPath = Static<typeof TokenPath>;
