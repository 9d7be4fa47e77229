/**
 * Providers whose endpoints tenants need not look up, and where they depart from the standards, as their developer
 * documentation has it.
 */
import type { ClientAuthMethod } from '../tables.ts';

export interface ProviderQuirks {
  /** What links have besides. */
  readonly linkParams?: Readonly<Record<string, string>>;
  /** Between scopes, asked for and granted; a space when absent. */
  readonly scopeSeparator?: ',';
  /** How requests to the token endpoint are written; a form when absent. */
  readonly tokenBody?: 'json';
  readonly tokenHeaders?: Readonly<Record<string, string>>;
  /** What stands for `invalid_grant`. */
  readonly endedErrors?: readonly string[];
  /** The same refresh token goes on working after each use. */
  readonly refreshTokensStay?: true;
}

export interface WellKnownProvider extends ProviderQuirks {
  readonly issuer?: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly revocation_endpoint?: string;
  readonly token_endpoint_auth_method: ClientAuthMethod;
}

const PROVIDERS: Readonly<Record<string, WellKnownProvider>> = {
  // https://developers.google.com/identity/protocols/oauth2/web-server
  google: {
    issuer: 'https://accounts.google.com',
    authorization_endpoint: 'https://accounts.google.com/o/oauth2/v2/auth',
    token_endpoint: 'https://oauth2.googleapis.com/token',
    revocation_endpoint: 'https://oauth2.googleapis.com/revoke',
    token_endpoint_auth_method: 'client_secret_post',
    // Without both, a refresh token comes at the first consent alone, or never.
    linkParams: { access_type: 'offline', prompt: 'consent' },
    refreshTokensStay: true,
  },
  // https://learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow. Its issuer names the user's own tenant.
  microsoft: {
    authorization_endpoint: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
    token_endpoint: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
    token_endpoint_auth_method: 'client_secret_post',
    refreshTokensStay: true,
  },
  // https://docs.github.com/apps/creating-github-apps. Refusals come with status 200.
  github: {
    authorization_endpoint: 'https://github.com/login/oauth/authorize',
    token_endpoint: 'https://github.com/login/oauth/access_token',
    token_endpoint_auth_method: 'client_secret_post',
    scopeSeparator: ',',
    endedErrors: ['bad_refresh_token'],
  },
  // https://docs.gitlab.com/api/oauth2
  gitlab: {
    issuer: 'https://gitlab.com',
    authorization_endpoint: 'https://gitlab.com/oauth/authorize',
    token_endpoint: 'https://gitlab.com/oauth/token',
    revocation_endpoint: 'https://gitlab.com/oauth/revoke',
    token_endpoint_auth_method: 'client_secret_post',
  },
  // https://docs.slack.dev/authentication/installing-with-oauth: tokens of people. Refusals come with status 200.
  slack: {
    authorization_endpoint: 'https://slack.com/oauth/v2_user/authorize',
    token_endpoint: 'https://slack.com/api/oauth.v2.user.access',
    token_endpoint_auth_method: 'client_secret_basic',
    scopeSeparator: ',',
    endedErrors: ['invalid_refresh_token', 'token_expired', 'token_revoked'],
  },
  // https://developers.notion.com/guides/get-started/authorization
  notion: {
    authorization_endpoint: 'https://api.notion.com/v1/oauth/authorize',
    token_endpoint: 'https://api.notion.com/v1/oauth/token',
    revocation_endpoint: 'https://api.notion.com/v1/oauth/revoke',
    token_endpoint_auth_method: 'client_secret_basic',
    linkParams: { owner: 'user' },
    tokenBody: 'json',
    tokenHeaders: { 'notion-version': '2025-09-03' },
  },
  // https://linear.app/developers/oauth-2-0-authentication
  linear: {
    authorization_endpoint: 'https://linear.app/oauth/authorize',
    token_endpoint: 'https://api.linear.app/oauth/token',
    revocation_endpoint: 'https://api.linear.app/oauth/revoke',
    token_endpoint_auth_method: 'client_secret_post',
    scopeSeparator: ',',
  },
  // https://developer.atlassian.com/cloud/jira/platform/oauth-2-3lo-apps
  atlassian: {
    authorization_endpoint: 'https://auth.atlassian.com/authorize',
    token_endpoint: 'https://auth.atlassian.com/oauth/token',
    token_endpoint_auth_method: 'client_secret_post',
    linkParams: { audience: 'api.atlassian.com', prompt: 'consent' },
    tokenBody: 'json',
  },
  // https://help.salesforce.com/s/articleView?id=xcloud.remoteaccess_oauth_web_server_flow.htm
  salesforce: {
    issuer: 'https://login.salesforce.com',
    authorization_endpoint: 'https://login.salesforce.com/services/oauth2/authorize',
    token_endpoint: 'https://login.salesforce.com/services/oauth2/token',
    revocation_endpoint: 'https://login.salesforce.com/services/oauth2/revoke',
    token_endpoint_auth_method: 'client_secret_post',
    refreshTokensStay: true,
  },
  // https://developers.hubspot.com/docs/api-reference/auth-oauth-v3/guide
  hubspot: {
    authorization_endpoint: 'https://app.hubspot.com/oauth/authorize',
    token_endpoint: 'https://api.hubapi.com/oauth/v3/token',
    token_endpoint_auth_method: 'client_secret_post',
    refreshTokensStay: true,
  },
};

export function findWellKnown(provider: string): WellKnownProvider | undefined {
  return Object.hasOwn(PROVIDERS, provider) ? PROVIDERS[provider] : undefined;
}

export const wellKnownNames: readonly string[] = Object.keys(PROVIDERS);
