/** Who is calling, once the token has been verified. */
import type { Actor } from '../tables.ts';

export interface TenantCaller {
  readonly kind: 'tenant';
  readonly projectId: string;
  readonly tokenId: string;
  readonly scopes: ReadonlySet<string>;
}

export interface SmithCaller {
  readonly kind: 'smith';
  readonly projectId: string;
  readonly smithId: string;
  readonly tokenId: string;
  readonly scopes: ReadonlySet<string>;
  /** Of a token that was issued for one MCP deployment: that deployment's address. */
  readonly audience?: string;
}

export interface OrganizationCaller {
  readonly kind: 'organization';
  readonly organizationId: string;
  readonly tokenId: string;
}

/** A caller inside one project. */
export type ProjectCaller = TenantCaller | SmithCaller;
export type Caller = ProjectCaller | OrganizationCaller;

/** The marker that opens every operation of the project. */
export const TENANT_MARKER = 'tenant:*';
export const ORGANIZATION_MARKER = 'organization:*';

/** The actor that events and runs record for what this caller does. `operator` is for the installation's own staff. */
export function actorOf(caller: Caller): Actor {
  const { tokenId: token_id } = caller;
  switch (caller.kind) {
    case 'smith':
      return { kind: 'smith', id: caller.smithId, token_id, email: '' };
    case 'tenant':
      return { kind: 'tenant', id: caller.projectId, token_id, email: '' };
    case 'organization':
      return { kind: 'tenant', id: caller.organizationId, token_id, email: '' };
  }
}

/** The `sub` of a token: the project, or one smith of it. */
export function subjectOf(projectId: string, smithId: string | null): string {
  return smithId === null ? projectId : `${projectId}:${smithId}`;
}

/** Whose view of a list a caller has: every token of a project sees the same, one of a smith sees that smith's. */
export function viewOf(caller: Caller): string {
  if (caller.kind === 'organization') return caller.organizationId;
  return subjectOf(caller.projectId, caller.kind === 'smith' ? caller.smithId : null);
}

export function hasScope(caller: ProjectCaller, scope: string): boolean {
  return caller.scopes.has(TENANT_MARKER) || caller.scopes.has(scope);
}
