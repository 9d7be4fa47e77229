/** The scopes that a request for consent asks for. */
import { ApiError } from '../../kernel/http/errors.ts';
import { isScope } from '../access/scopes.ts';

/** What a connector gets, and all of it. */
export const CONNECTOR_SCOPE = 'runs:write';
/** Known, and of no effect: every connector may refresh. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set(['offline_access', 'openid', 'profile', 'email']);

/**
 * What a connector is asked consent for. Clients that ask for all they have heard of get what there is; one that asks only for
 * what a connector never has is told so. Throws `invalid_scope`.
 */
export function readConnectorScopes(text: string | undefined): string[] {
  const asked = [...new Set((text ?? '').split(' ').filter((scope) => scope !== ''))];
  const unknown = asked.find((scope) => !isScope(scope) && !WITHOUT_EFFECT.has(scope));
  if (unknown !== undefined) throw refused(`${JSON.stringify(unknown.slice(0, 64))} is no scope of this server.`);
  if (!asked.includes('openid') && (asked.includes('email') || asked.includes('profile'))) {
    throw refused('`email` and `profile` need `openid` beside them.');
  }
  const permissions = asked.filter(isScope);
  if (permissions.length > 0 && !permissions.includes(CONNECTOR_SCOPE)) {
    throw refused(`A client of an MCP server gets ${CONNECTOR_SCOPE}. Ask for that, or leave \`scope\` out.`);
  }
  return [CONNECTOR_SCOPE];
}

function refused(message: string): ApiError {
  return new ApiError('invalid_scope', { param: 'scope', message });
}
