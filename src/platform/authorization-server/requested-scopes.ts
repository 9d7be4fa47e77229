/** The scopes that a request for consent asks for. */
import { ApiError } from '../../kernel/http/errors.ts';
import { TENANT_MARKER } from '../access/caller.ts';
import { isScope } from '../access/scopes.ts';

/** What a connector gets, and all of it. */
export const CONNECTOR_SCOPE = 'runs:write';
/** What an app learns of who let it in. No permission. */
export const IDENTITY_SCOPES: readonly string[] = ['openid', 'profile', 'email'];
/** Known, and of no effect: connectors may refresh anyway, and what apps get does not end. */
const OFFLINE = 'offline_access';

/**
 * What a connector is asked consent for. Clients that ask for all they have heard of get what there is; one that asks only for
 * what a connector never has is told so. Throws `invalid_scope`.
 */
export function readConnectorScopes(text: string | undefined): string[] {
  const permissions = readScopes(text).filter(isPermission);
  if (permissions.length > 0 && !permissions.includes(CONNECTOR_SCOPE) && !permissions.includes(TENANT_MARKER)) {
    throw refused(`A client of an MCP server gets ${CONNECTOR_SCOPE}. Ask for that, or leave \`scope\` out.`);
  }
  return [CONNECTOR_SCOPE];
}

/** What an app is asked consent for: what it asks for, or else all that its document names. Throws `invalid_scope`. */
export function readAppScopes(text: string | undefined, ofDocument: string | undefined): string[] {
  const scopes = readScopes(text ?? ofDocument).filter((scope) => scope !== OFFLINE);
  if (scopes.length > 0) return scopes;
  throw refused('Say what the app is to be able to do: send `scope`, or name it in the metadata document.');
}

/** What a token may carry; `tenant:*` is everything in the project. */
export function isPermission(scope: string): boolean {
  return scope === TENANT_MARKER || isScope(scope);
}

function readScopes(text = ''): string[] {
  const scopes = [...new Set(text.split(' ').filter((scope) => scope !== ''))];
  const unknown = scopes.find((scope) => !isPermission(scope) && !IDENTITY_SCOPES.includes(scope) && scope !== OFFLINE);
  if (unknown !== undefined) throw refused(`${JSON.stringify(unknown.slice(0, 64))} is no scope of this server.`);
  if (!scopes.includes('openid') && (scopes.includes('email') || scopes.includes('profile'))) {
    throw refused('`email` and `profile` need `openid` beside them.');
  }
  return scopes;
}

function refused(message: string): ApiError {
  return new ApiError('invalid_scope', { param: 'scope', message });
}
