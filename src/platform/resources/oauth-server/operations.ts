import { oauthErrors, pageErrors } from '../../../kernel/http/operation-errors.ts';
import { open, tenantOrOrganization } from '../../access/operation.ts';
import type { OAuthDependencies } from '../../authorization-server/index.ts';
import { authorize } from './authorize.ts';
import { completeAuthorizeRequest } from './complete-authorize-request.ts';
import { consent } from './consent.ts';
import { declineAuthorizeRequest } from './decline-authorize-request.ts';
import { getAuthorizeRequest } from './get-authorize-request.ts';
import { getProtectedResource } from './get-protected-resource.ts';
import { getOpenIdConfiguration, getServerMetadata } from './get-server-metadata.ts';
import { issueTokens } from './issue-tokens.ts';
import { registerClient } from './register-client.ts';
import { revokeTokens } from './revoke-tokens.ts';
import {
  AuthorizationServerMetadata,
  AuthorizeParameters,
  AuthorizeRequestCompletion,
  AuthorizeRequestOut,
  AuthorizeRequestPath,
  AuthorizeRequestSettled,
  ClientIn,
  ClientOut,
  ConsentForm,
  DeploymentPath,
  OAuthTokens,
  OpenIdConfiguration,
  ProtectedResourceMetadata,
  RevocationForm,
  TokenForm,
} from './schema.ts';

const MAX_FORM_BYTES = 64 * 1024;

const registrationErrors = oauthErrors({
  invalid_url: { error: 'invalid_redirect_uri', status: 400 },
  invalid_request: { error: 'invalid_client_metadata', status: 400 },
});

const tokenErrors = oauthErrors({
  invalid_code: { error: 'invalid_grant', status: 400 },
  forbidden_target: { error: 'invalid_target', status: 400 },
  unsupported: { error: 'unsupported_grant_type', status: 400 },
  invalid_scope: { error: 'invalid_scope', status: 400 },
});

export function oauthServerOperations(deps: OAuthDependencies) {
  return [
    open.read({
      id: 'oauth.server_metadata',
      method: 'GET',
      path: '/.well-known/oauth-authorization-server',
      posture: 'public',
      summary: 'Get what the authorization server offers',
      description: 'RFC 8414.',
      reply: AuthorizationServerMetadata,
      handler: getServerMetadata(deps),
    }),
    open.read({
      id: 'oauth.openid_configuration',
      method: 'GET',
      path: '/.well-known/openid-configuration',
      posture: 'public',
      summary: 'Get the same for OpenID Connect',
      reply: OpenIdConfiguration,
      handler: getOpenIdConfiguration(deps),
    }),
    open.read({
      id: 'oauth.protected_resource',
      method: 'GET',
      path: '/.well-known/oauth-protected-resource/v1/deployments/{depid}/mcp',
      posture: 'public',
      summary: 'Get whom to ask for a token for an MCP server',
      description: 'RFC 9728. The 401 of the MCP server names this address.',
      params: DeploymentPath,
      reply: ProtectedResourceMetadata,
      errors: ['not_found'],
      handler: getProtectedResource(deps),
    }),
    open.change({
      id: 'oauth.register',
      method: 'POST',
      path: '/oauth/register',
      posture: 'public',
      summary: 'Register a client',
      description:
        'RFC 7591. It gives no right: a person lets the client in at `/oauth/authorize`. A client that nobody lets in is removed ' +
        'after a day.',
      status: 201,
      idempotent: false,
      maxBodyBytes: MAX_FORM_BYTES,
      body: ClientIn,
      example: {
        client_name: 'Example',
        redirect_uris: ['http://127.0.0.1/callback'],
        token_endpoint_auth_method: 'none',
      },
      reply: ClientOut,
      errorDialect: registrationErrors,
      errors: ['invalid_url', 'payload_too_large'],
      handler: registerClient,
    }),
    open.turn({
      id: 'oauth.authorize',
      method: 'GET',
      path: '/oauth/authorize',
      posture: 'public',
      summary: 'Ask a person for consent',
      description:
        'For browsers. An unknown client, or an address that it is not registered for, gets a page; every other refusal goes back to ' +
        'the client.',
      query: AuthorizeParameters,
      answers: ['html', 'redirect'],
      errorDialect: pageErrors(),
      handler: authorize(deps),
    }),
    open.turn({
      id: 'oauth.consent',
      method: 'POST',
      path: '/oauth/authorize',
      posture: 'public',
      summary: 'Send the form of the consent page',
      bodyFormat: 'form',
      maxBodyBytes: MAX_FORM_BYTES,
      body: ConsentForm,
      answers: ['html', 'redirect'],
      errorDialect: pageErrors(),
      errors: ['invalid_state'],
      handler: consent(deps),
    }),
    open.turn({
      id: 'oauth.token',
      method: 'POST',
      path: '/oauth/token',
      posture: 'public',
      summary: 'Get tokens for a code or a refresh token',
      description:
        'A client of an MCP server gets a smith token with `runs:write` for that server, good for an hour. A refresh token is good once: one ' +
        'that comes back later than half a minute ends all that came of its consent. An app gets a token of a project, which stays until the ' +
        'app is disconnected. A request that succeeds costs its address nothing.',
      bodyFormat: 'form',
      maxBodyBytes: MAX_FORM_BYTES,
      isFreeWhenDone: true,
      body: TokenForm,
      reply: OAuthTokens,
      errorDialect: tokenErrors,
      errors: ['unauthenticated', 'invalid_code', 'forbidden_target', 'unsupported', 'minting_unavailable'],
      handler: issueTokens(deps),
    }),
    open.turn({
      id: 'oauth.revoke',
      method: 'POST',
      path: '/oauth/revoke',
      posture: 'public',
      summary: 'Give a token back',
      description:
        'RFC 7009. It ends all that came of the same consent. Unknown tokens and those of other clients stay as they are.',
      status: 200,
      bodyFormat: 'form',
      maxBodyBytes: MAX_FORM_BYTES,
      body: RevocationForm,
      errorDialect: tokenErrors,
      errors: ['unauthenticated'],
      handler: revokeTokens(deps),
    }),
    tenantOrOrganization.read({
      id: 'oauth.authorize_requests.get',
      method: 'GET',
      path: '/v1/oauth/authorize-requests/{rid}',
      posture: 'tenant|org',
      summary: 'Get a request for consent',
      description: 'For a consent page of your own (`IRONCRAFT_CONSENT_URL`): it is opened with `?request=`.',
      params: AuthorizeRequestPath,
      reply: AuthorizeRequestOut,
      errors: ['not_found'],
      handler: getAuthorizeRequest,
    }),
    tenantOrOrganization.change({
      id: 'oauth.authorize_requests.complete',
      method: 'POST',
      path: '/v1/oauth/authorize-requests/{rid}/complete',
      posture: 'tenant|org',
      summary: 'Let the client in',
      description: 'Send the browser to the `redirect_url` of the answer within a minute.',
      params: AuthorizeRequestPath,
      body: AuthorizeRequestCompletion,
      // Settled once, whoever asks again.
      idempotent: false,
      example: {},
      reply: AuthorizeRequestSettled,
      errors: [
        'not_found',
        'invalid_state',
        'smith_required',
        'smith_unresolved',
        'smith_mismatch',
        'forbidden_target',
      ],
      handler: completeAuthorizeRequest(deps),
    }),
    tenantOrOrganization.change({
      id: 'oauth.authorize_requests.decline',
      method: 'POST',
      path: '/v1/oauth/authorize-requests/{rid}/decline',
      posture: 'tenant|org',
      summary: 'Send the client away',
      idempotent: false,
      description: 'Send the browser to the `redirect_url` of the answer.',
      params: AuthorizeRequestPath,
      reply: AuthorizeRequestSettled,
      errors: ['not_found', 'invalid_state'],
      handler: declineAuthorizeRequest(deps),
    }),
  ];
}
