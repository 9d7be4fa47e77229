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

/** The actor that events and runs record for what this caller does. */
export function actorOf(caller: ProjectCaller): Actor {
  return {
    kind: caller.kind,
    id: caller.kind === 'smith' ? caller.smithId : caller.projectId,
    token_id: caller.tokenId,
    email: '',
  };
}

export function hasScope(caller: ProjectCaller, scope: string): boolean {
  return caller.scopes.has(TENANT_MARKER) || caller.scopes.has(scope);
}
