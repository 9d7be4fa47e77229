/** What an operator can ask the platform for, and what is answered. */
import Type from 'typebox';
import type { OperatorVerbs } from '../../kernel/operator/index.ts';

export const MAX_NAME_LENGTH = 200;

const owner = Type.Optional(Type.String({ description: 'An id or a name; it may be left out where there is one.' }));
const name = Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH });
const ttlSeconds = Type.Optional(Type.Integer({ minimum: 1 }));

const verbs = {
  mint_token: {
    request: Type.Union([
      Type.Object({
        scope: Type.Literal('organization'),
        organization: owner,
        name: Type.Optional(name),
      }),
      Type.Object({
        scope: Type.Literal('admin'),
        organization: owner,
        project: owner,
        ttl_seconds: ttlSeconds,
        name: Type.Optional(name),
      }),
      Type.Object({
        scope: Type.Literal('smith'),
        organization: owner,
        project: owner,
        smith_id: Type.String(),
        permissions: Type.Array(Type.String(), { minItems: 1 }),
        ttl_seconds: ttlSeconds,
        name: Type.Optional(name),
      }),
    ]),
    answer: Type.Object({
      id: Type.String(),
      token: Type.String(),
      sub: Type.String(),
      scopes: Type.Array(Type.String()),
      expires_at: Type.Union([Type.String(), Type.Null()]),
    }),
  },
  create_organization: {
    request: Type.Object({ name }),
    answer: Type.Object({ organization_id: Type.String(), name: Type.String(), organization_key: Type.String() }),
  },
} as const;

export type PlatformVerbs = typeof verbs;
export const platformVerbs: OperatorVerbs<PlatformVerbs> = { service: 'platform', verbs };
