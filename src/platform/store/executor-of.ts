/**
 * The store beneath a tenant's handle, for the parts of the platform that own tables and for what outlives a request.
 * Operations and surfaces may not import this (a test holds them to it): what they write is scoped by construction.
 */
import type { Executor } from '../../kernel/db/database.ts';

/** Where a handle keeps what it stands on. */
export const EXECUTOR = Symbol('executor');

/** The executor that a handle of `tenant-db.ts` stands on, which sees every tenant's rows. */
export function executorOf<E extends Executor>(handle: { readonly [EXECUTOR]: E }): E {
  return handle[EXECUTOR];
}
