/** Accounts that users have connected to smiths. */
import type { Static } from 'typebox';
import { pageQuery } from '../../../kernel/http/paging.ts';
import {
  boundedObject,
  closedObject,
  component,
  failsWith,
  jsonObject,
  nullable,
  oneOf,
  timestamp,
} from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

const MAX_TOKEN_LENGTH = 16_384;
const MAX_URL_LENGTH = 2_048;
const MAX_NAME_LENGTH = 128;
const METADATA = { members: 32, bytes: 8_192 };

const provider = Type.String({
  maxLength: MAX_NAME_LENGTH,
  ...failsWith('unknown_provider'),
  description: 'The name of an OAuth provider, or `mcp:` and the name of a registered MCP server.',
});
const scopes = Type.Array(Type.String({ pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,256}$' }), { maxItems: 200 });
const token = (description: string) =>
  Type.Optional(nullable(Type.String({ maxLength: MAX_TOKEN_LENGTH }), { description }));
const STATUSES = ['active', 'expired', 'disabled'] as const;

export const Connection = component(
  'Connection',
  Type.Object({
    id: Type.String(),
    provider: Type.String(),
    scopes: Type.Array(Type.String()),
    status: oneOf(STATUSES, {
      description: '`expired`: the account has to be connected again; `disabled`: by `PATCH`.',
    }),
    expires_at: nullable(timestamp(), {
      description: 'Of the access token, which is refreshed by itself where that is possible.',
    }),
    metadata: jsonObject(),
    created_at: nullable(timestamp()),
  }),
);

const Credential = closedObject({
  kind: Type.String({ maxLength: 64, ...failsWith('unsupported_credential'), description: '`oauth2` or `bearer`.' }),
  access_token: token('Never shown again.'),
  refresh_token: token('Of `oauth2`. Got by the client that is saved for the provider.'),
  expires_at: Type.Optional(nullable(timestamp(), { description: 'Of `access_token`. Null: it does not expire.' })),
  token_uri: Type.Optional(
    nullable(Type.String({ maxLength: MAX_URL_LENGTH }), {
      description: 'The token endpoint of the saved provider, and no other.',
    }),
  ),
});

export const ConnectionIn = component(
  'ConnectionIn',
  closedObject({
    provider,
    credential: Credential,
    scopes: Type.Optional(scopes),
    metadata: Type.Optional(boundedObject(METADATA)),
  }),
);

export const ConnectionPatch = component(
  'ConnectionPatch',
  closedObject({
    scopes: Type.Optional(nullable(scopes)),
    credential: Type.Optional(nullable(Credential)),
    status: Type.Optional(
      nullable(Type.String({ maxLength: 64, ...failsWith('invalid_request') }), {
        description: '`disabled`, or `active` again.',
      }),
    ),
    metadata: Type.Optional(nullable(boundedObject(METADATA))),
  }),
);

export const AuthorizeIn = component(
  'AuthorizeIn',
  closedObject({
    provider,
    return_url: Type.Optional(
      nullable(Type.String({ maxLength: MAX_URL_LENGTH, ...failsWith('invalid_return_url') }), {
        description:
          'Where the browser goes at the end, with `status`, and `connection_id` or `error`: https, or http to this machine.',
      }),
    ),
    mcp_server: Type.Optional(
      nullable(Type.String({ maxLength: MAX_NAME_LENGTH }), {
        description: 'The registered MCP server that the account is for, where `provider` is not its `mcp:` name.',
      }),
    ),
  }),
);

export const AuthorizeOut = component(
  'AuthorizeOut',
  Type.Object({
    authorize_url: nullable(Type.String(), {
      description: 'For the user’s browser; works once, for ten minutes. Null: nothing needs connecting.',
    }),
    provider: Type.String({ description: 'What the connection will have as its provider.' }),
  }),
);

export const CallbackQuery = Type.Object({
  state: Type.Optional(Type.String({ maxLength: 512 })),
  code: Type.Optional(Type.String({ maxLength: 8_192 })),
  iss: Type.Optional(Type.String({ maxLength: MAX_URL_LENGTH })),
  error: Type.Optional(Type.String({ maxLength: 256 })),
});

export const ConnectionCallbackOut = component('ConnectionCallbackOut', Type.Object({ status: oneOf(['ok']) }));

export const ClientMetadataDocument = component(
  'ClientMetadataDocument',
  Type.Object({
    client_id: Type.String(),
    client_name: Type.String(),
    client_uri: Type.String(),
    redirect_uris: Type.Array(Type.String()),
    grant_types: Type.Array(Type.String()),
    response_types: Type.Array(Type.String()),
    token_endpoint_auth_method: Type.String(),
    jwks_uri: Type.String(),
  }),
);

export const SmithPath = Type.Object({ sid: Type.String() });
export const ConnectionPath = Type.Object({ sid: Type.String(), cid: Type.String() });
export const ConnectionQuery = Type.Object(pageQuery);

export type Connection = Static<typeof Connection>;
export type ConnectionIn = Static<typeof ConnectionIn>;
export type ConnectionPatch = Static<typeof ConnectionPatch>;
export type AuthorizeIn = Static<typeof AuthorizeIn>;
export type AuthorizeOut = Static<typeof AuthorizeOut>;
export type CallbackQuery = Static<typeof CallbackQuery>;
export type ConnectionCallbackOut = Static<typeof ConnectionCallbackOut>;
export type ClientMetadataDocument = Static<typeof ClientMetadataDocument>;
export type SmithPath = Static<typeof SmithPath>;
export type ConnectionPath = Static<typeof ConnectionPath>;
