/**
 * Sessions of the revision 2025-11-25. Nothing is stored of one: its id is what there is to know, sealed for its deployment,
 * so that any replica opens it. It ties the ids of requests together, of which each begins one turn at most.
 */
import { randomBytes } from 'node:crypto';
import { ApiError } from '../../kernel/http/errors.ts';
import { type Vault, VaultError } from '../../kernel/vault/vault.ts';
import type { ProjectCaller } from '../access/caller.ts';
import type { McpDeployment } from './find-deployment.ts';

export const SESSION_HEADER = 'mcp-session-id';
/** Ours have some 200. */
const MAX_SESSION_CHARS = 1_000;
const KEY_BYTES = 16;

interface SealedSession {
  /** Its own, which no other session has. */
  readonly key: string;
  readonly caller: ProjectCaller['kind'];
  /** Null: a tenant-admin token began it and has named none yet. */
  readonly smith: string | null;
}

export function sealSession(
  vault: Vault,
  deployment: McpDeployment,
  caller: ProjectCaller,
  smithId: string | undefined,
): string {
  const key = randomBytes(KEY_BYTES).toString('base64url');
  const session: SealedSession = { key, caller: caller.kind, smith: smithId ?? null };
  return vault.seal(JSON.stringify(session), contextOf(deployment));
}

/** The session's key. Throws `session_not_found`, and `session_mismatch` for one of another caller or smith. */
export function openSession(
  vault: Vault,
  deployment: McpDeployment,
  sealed: string,
  of: { readonly caller: ProjectCaller; readonly smithId: string },
): string {
  const { key, caller, smith } = unseal(vault, deployment, sealed);
  if (caller !== of.caller.kind || (smith !== null && smith !== of.smithId)) throw new ApiError('session_mismatch');
  return key;
}

function unseal(vault: Vault, deployment: McpDeployment, sealed: string): SealedSession {
  const message = 'There is no such session of this MCP server. Start a new one with `initialize`.';
  if (sealed.length > MAX_SESSION_CHARS) throw new ApiError('session_not_found', { message });
  try {
    return JSON.parse(vault.open(sealed, contextOf(deployment)));
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    throw new ApiError('session_not_found', { message });
  }
}

function contextOf({ projectId, id }: McpDeployment): string {
  return `deployments/${projectId}/${id}/mcp_session`;
}
