/** OAuth clients that a tenant has registered at providers. */
import type { Static } from 'typebox';
import { closedObject, component, failsWith, nullable, oneOf } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

const MAX_URL_LENGTH = 2_048;
const MAX_SECRET_LENGTH = 8_192;
const MAX_SCOPES = 200;
const METHODS = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const;

const provider = Type.String({ description: 'A well-known name, such as `google`, or one that the tenant chose.' });
const scopes = { maxItems: MAX_SCOPES } as const;
const scope = Type.String({ pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,256}$' });
const address = (description: string) =>
  Type.Optional(nullable(Type.String({ maxLength: MAX_URL_LENGTH, ...failsWith('invalid_url') }), { description }));

export const OAuthProvider = component(
  'OAuthProvider',
  Type.Object({
    provider,
    client_id: Type.String(),
    has_secret: Type.Boolean(),
    scopes_allowed: Type.Array(Type.String()),
    issuer: nullable(Type.String()),
    authorization_endpoint: Type.String(),
    token_endpoint: Type.String(),
    revocation_endpoint: nullable(Type.String()),
    token_endpoint_auth_method: oneOf(METHODS),
  }),
);

/** A fixed-size list: bare `{data}`. */
export const OAuthProviderList = component('OAuthProviderList', Type.Object({ data: Type.Array(OAuthProvider) }));

export const OAuthProviderIn = component(
  'OAuthProviderIn',
  closedObject({
    client_id: Type.String({ pattern: '^[\\x21-\\x7e]{1,2048}$', description: 'As the provider gave it.' }),
    client_secret: Type.Optional(
      nullable(Type.String({ maxLength: MAX_SECRET_LENGTH }), {
        description:
          'Never shown again. Left out, the one that is there stays, as long as the origin of `token_endpoint` does; null removes it.',
      }),
    ),
    scopes_allowed: Type.Optional(
      nullable(Type.Array(scope, scopes), {
        description: 'What users are asked for. Of an MCP server that asks for less, less; nothing beyond it.',
      }),
    ),
    issuer: address(
      'Its metadata is read, and gives the endpoints that are left out. Checked in what comes back from the browser.',
    ),
    authorization_endpoint: address('Where users are sent.'),
    token_endpoint: address('Where codes and refresh tokens are taken to, and the secret with them.'),
    revocation_endpoint: address('Where credentials are revoked (RFC 7009) that are deleted here.'),
    token_endpoint_auth_method: Type.Optional(
      nullable(oneOf(METHODS), {
        description: 'How the client proves itself there; what suits the provider and `client_secret` when left out.',
      }),
    ),
  }),
);

export const ProviderPath = Type.Object({ provider: Type.String() });
/** Of one that is to be saved: a colon would make it the name of an MCP server’s. */
export const NewProviderPath = Type.Object({
  provider: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,62}$', ...failsWith('invalid_name') }),
});

export type OAuthProvider = Static<typeof OAuthProvider>;
export type OAuthProviderList = Static<typeof OAuthProviderList>;
export type OAuthProviderIn = Static<typeof OAuthProviderIn>;
export type ProviderPath = Static<typeof ProviderPath>;
