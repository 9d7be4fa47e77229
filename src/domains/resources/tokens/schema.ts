import type { Static } from 'typebox';
import { closedObject, component, nullable, oneOf, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { nextAfter } from '../../list-page.ts';

export const TokenPath = Type.Object({ token_id: Type.String({ minLength: 1, maxLength: 100 }) });

const scope = oneOf(['read', 'write'], { description: '`write` allows what `read` does, and changes.' });

const members = {
  id: Type.String(),
  scope,
  name: Type.String({ description: 'What it is for.' }),
  created_at: timestamp(),
};

export const Token = component(
  'Token',
  Type.Object({
    ...members,
    revoked_at: nullable(timestamp(), { description: 'Since when it is refused; null: it is taken.' }),
    is_current: Type.Boolean({ description: 'Whether this call came with it.' }),
  }),
);
export type Token = Static<typeof Token>;

export const TokenList = Type.Object({ tokens: Type.Array(Token), next_after: nextAfter });
export type TokenList = Static<typeof TokenList>;

export const TokenCreate = component(
  'TokenCreate',
  closedObject({
    scope,
    name: Type.String({ minLength: 1, maxLength: 200, pattern: '\\S', description: 'What it is for.' }),
  }),
);
export type TokenCreate = Static<typeof TokenCreate>;

export const IssuedToken = component(
  'IssuedToken',
  Type.Object({
    ...members,
    token: Type.String({ description: 'Send it as `Authorization: Bearer <token>`. It is shown this once.' }),
  }),
);
export type IssuedToken = Static<typeof IssuedToken>;
