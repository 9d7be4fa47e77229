/** The platform's operation definers, one a kind of caller; the gate guarantees that no other kind arrives. */
import { operationsFor } from '../kernel/http/operation.ts';
import type { OrganizationCaller, ProjectCaller } from './access/caller.ts';

/** Called with a tenant-admin or a smith token. */
export const project = operationsFor<ProjectCaller>();
/** Called with an organization key. */
export const organization = operationsFor<OrganizationCaller>();
/** Called without a token. */
export const open = operationsFor<undefined>();
