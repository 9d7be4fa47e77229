/** OAuth's own documents and messages, in its own words. What is not known here is ignored, as OAuth demands. */
import type { Static } from 'typebox';
import { closedObject, component, MAX_JSON_BYTES, nullable, oneOf, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { CLIENT_AUTH_METHODS, MAX_REDIRECT_URIS } from '../../authorization-server/index.ts';

const MAX_PARAMETER = 2_048;
const MAX_ASSERTION = 8_192;
const MAX_ID = 128;
const MAX_TEXT = 320;
/** Of what a client says of itself. */
const MAX_CLIENT_BYTES = 64 * 1024;

const strings = Type.Array(Type.String());
const parameter = (description?: string, maxLength = MAX_PARAMETER) =>
  Type.Optional(Type.String({ maxLength, ...(description === undefined ? {} : { description }) }));

const serverMembers = {
  issuer: Type.String(),
  authorization_endpoint: Type.String(),
  token_endpoint: Type.String(),
  registration_endpoint: Type.String(),
  revocation_endpoint: Type.String(),
  jwks_uri: Type.String(),
  response_types_supported: strings,
  response_modes_supported: strings,
  grant_types_supported: strings,
  code_challenge_methods_supported: strings,
  token_endpoint_auth_methods_supported: strings,
  token_endpoint_auth_signing_alg_values_supported: strings,
  revocation_endpoint_auth_methods_supported: strings,
  revocation_endpoint_auth_signing_alg_values_supported: strings,
  scopes_supported: strings,
  client_id_metadata_document_supported: Type.Boolean(),
  authorization_response_iss_parameter_supported: Type.Boolean(),
};

export const AuthorizationServerMetadata = component('AuthorizationServerMetadata', Type.Object(serverMembers));

export const OpenIdConfiguration = component(
  'OpenIdConfiguration',
  Type.Object({
    ...serverMembers,
    subject_types_supported: strings,
    id_token_signing_alg_values_supported: strings,
    claims_supported: strings,
  }),
);

export const ProtectedResourceMetadata = component(
  'ProtectedResourceMetadata',
  Type.Object({
    resource: Type.String({ description: 'The `mcp_url` of the deployment.' }),
    authorization_servers: strings,
    bearer_methods_supported: strings,
    scopes_supported: strings,
  }),
);

export const DeploymentPath = Type.Object({ depid: Type.String() });

export const ClientIn = component(
  'OAuthClientIn',
  Type.Object(
    {
      redirect_uris: Type.Optional(
        Type.Unsafe<unknown>({
          type: 'array',
          items: { type: 'string' },
          description: `Required; at most ${MAX_REDIRECT_URIS}: https, http to loopback, or a scheme of the application’s own. Of loopback any port will do.`,
        }),
      ),
      client_name: Type.Optional(Type.Unsafe<unknown>({ type: 'string' })),
      token_endpoint_auth_method: Type.Optional(
        Type.Unsafe<unknown>({
          type: 'string',
          description: `${CLIENT_AUTH_METHODS.join(', ')}; client_secret_basic when left out.`,
        }),
      ),
    },
    { additionalProperties: true, [MAX_JSON_BYTES]: MAX_CLIENT_BYTES },
  ),
);

export const ClientOut = component(
  'OAuthClient',
  Type.Object({
    client_id: Type.String(),
    client_id_issued_at: Type.Integer(),
    client_secret: Type.Optional(Type.String({ description: 'Shown this once.' })),
    client_secret_expires_at: Type.Optional(Type.Integer({ description: '0: never.' })),
    client_name: Type.String(),
    redirect_uris: strings,
    token_endpoint_auth_method: oneOf(CLIENT_AUTH_METHODS),
    grant_types: strings,
    response_types: strings,
    scope: Type.Optional(Type.String()),
    client_uri: Type.Optional(Type.String()),
    jwks_uri: Type.Optional(Type.String()),
    jwks: Type.Optional(Type.Unsafe<object>({ type: 'object', additionalProperties: true })),
  }),
);

export const AuthorizeParameters = Type.Object({
  client_id: parameter('As registered, or the address of a client metadata document.'),
  redirect_uri: parameter(),
  response_type: parameter('`code`.'),
  response_mode: parameter(),
  scope: parameter(),
  state: parameter(),
  nonce: parameter(),
  code_challenge: parameter(),
  code_challenge_method: parameter('`S256`.'),
  resource: parameter('The `mcp_url` of a deployment; left out, the request is an app’s.'),
});

export const ConsentForm = component(
  'OAuthConsentForm',
  Type.Object({
    request: Type.String({ maxLength: MAX_ID }),
    decision: oneOf(['approve', 'deny']),
    token: parameter(
      'A smith token with runs:write, or a tenant-admin token; for an app an organization key.',
      2 * MAX_PARAMETER,
    ),
    smith_id: parameter(undefined, MAX_ID),
    project_id: parameter('Which project an app is let into.', MAX_ID),
  }),
);

const clientAuthentication = {
  client_id: parameter(),
  client_secret: parameter(),
  client_assertion_type: parameter(),
  client_assertion: parameter(undefined, MAX_ASSERTION),
};

export const TokenForm = component(
  'OAuthTokenForm',
  Type.Object({
    grant_type: Type.String({ maxLength: MAX_PARAMETER, description: '`authorization_code` or `refresh_token`.' }),
    code: parameter(),
    redirect_uri: parameter(),
    code_verifier: parameter(),
    refresh_token: parameter(),
    resource: parameter(),
    ...clientAuthentication,
  }),
);

export const OAuthTokens = component(
  'OAuthTokens',
  Type.Object({
    access_token: Type.String(),
    token_type: oneOf(['Bearer']),
    expires_in: Type.Optional(Type.Integer({ description: 'Absent: until the app is disconnected.' })),
    scope: Type.String(),
    refresh_token: Type.Optional(
      Type.String({ description: 'Good once, within 30 days; each refresh gives the next. Apps have none.' }),
    ),
    id_token: Type.Optional(Type.String({ description: 'With `openid`: who let the app in. Good for five minutes.' })),
  }),
);

export const RevocationForm = component(
  'OAuthRevocationForm',
  Type.Object({
    token: Type.String({ maxLength: 2 * MAX_PARAMETER, description: 'An access or a refresh token.' }),
    token_type_hint: parameter(),
    ...clientAuthentication,
  }),
);

export const AuthorizeRequestPath = Type.Object({ rid: Type.String() });

export const AuthorizeRequestOut = component(
  'AuthorizeRequest',
  Type.Object({
    id: Type.String(),
    kind: oneOf(['connector', 'app'], {
      description: '`connector`: a client of an MCP server. `app`: one that asks for a token of a project.',
    }),
    client_id: Type.String(),
    client_name: Type.String({ description: 'What the client calls itself, without what people cannot see.' }),
    redirect_uri: Type.String(),
    scopes: strings,
    deployment_id: nullable(Type.String(), { description: 'Of a connector.' }),
    created_at: timestamp(),
    expires_at: timestamp(),
  }),
);

const VouchedPerson = component(
  'VouchedPerson',
  closedObject({
    id: Type.String({ minLength: 1, maxLength: MAX_ID, description: 'What you call the person: half of `sub`.' }),
    email: Type.Optional(Type.String({ maxLength: MAX_TEXT })),
    email_verified: Type.Optional(Type.Boolean()),
    name: Type.Optional(Type.String({ maxLength: MAX_TEXT })),
    picture: Type.Optional(Type.String({ maxLength: MAX_PARAMETER })),
  }),
);

export const AuthorizeRequestCompletion = component(
  'AuthorizeRequestCompletion',
  closedObject({
    smith_id: Type.Optional(
      nullable(Type.String({ maxLength: MAX_ID }), {
        description: 'Whom a connector is to speak to. It may be left out where the deployment is a smith’s.',
      }),
    ),
    project_id: Type.Optional(
      nullable(Type.String({ maxLength: MAX_ID }), { description: 'Which project an app is let into.' }),
    ),
    user: Type.Optional(
      nullable(VouchedPerson, {
        description: 'The person of yours who lets the app in. Absent: the organization does.',
      }),
    ),
  }),
);

export const AuthorizeRequestSettled = component(
  'AuthorizeRequestSettled',
  Type.Object({ redirect_url: Type.String({ description: 'Where the browser is to go now.' }) }),
);

export type AuthorizeParameters = Static<typeof AuthorizeParameters>;
export type ClientIn = Static<typeof ClientIn>;
export type ClientOut = Static<typeof ClientOut>;
export type ConsentForm = Static<typeof ConsentForm>;
export type TokenForm = Static<typeof TokenForm>;
export type RevocationForm = Static<typeof RevocationForm>;
export type AuthorizeRequestPath = Static<typeof AuthorizeRequestPath>;
export type AuthorizeRequestOut = Static<typeof AuthorizeRequestOut>;
export type AuthorizeRequestCompletion = Static<typeof AuthorizeRequestCompletion>;
export type AuthorizeRequestSettled = Static<typeof AuthorizeRequestSettled>;
