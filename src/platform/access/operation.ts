/** The platform's operation definers, one a kind of caller; the gate guarantees that no other kind arrives. */
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { operationsFor, operationsWith, type RequestContext } from '../../kernel/http/operation.ts';
import { TenantDatabase, TenantTransaction } from '../store/tenant-db.ts';
import type { OrganizationCaller, ProjectCaller, TenantCaller } from './caller.ts';

/** Called with a tenant-admin or a smith token. Handlers get the store scoped to the caller's project. */
export const project = operationsWith({
  db: (db, caller: ProjectCaller) => new TenantDatabase(db, caller.projectId),
  tx: (tx, caller: ProjectCaller) => new TenantTransaction(tx, caller.projectId),
});
/** Called with an organization key. */
export const organization = operationsFor<OrganizationCaller>();
/** Called with a tenant-admin token or an organization key. Handlers work on the store itself. */
export const tenantOrOrganization = operationsFor<TenantCaller | OrganizationCaller>();
/** Called without a token. */
export const open = operationsFor<undefined>();

/** What a handler of a project's read takes; `Parts` are the validated `params`, `query` and `body` that it uses. */
export type ProjectRead<Parts = unknown> = RequestContext<ProjectCaller> & Parts & { readonly db: TenantDatabase };
export type ProjectChange<Parts = unknown> = RequestContext<ProjectCaller> & Parts & { readonly tx: TenantTransaction };
export type OrganizationRead<Parts = unknown> = RequestContext<OrganizationCaller> & Parts & { readonly db: Database };
export type OrganizationChange<Parts = unknown> = RequestContext<OrganizationCaller> &
  Parts & { readonly tx: Transaction };
