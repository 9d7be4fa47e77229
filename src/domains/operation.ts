/** The service's operation definers, by who may call; the gate refuses all other callers. */
import type { Database, Transaction } from '../kernel/db/database.ts';
import { type IdempotencyClaim, operationsFor, type RequestContext } from '../kernel/http/operation.ts';
import type { Caller } from './access/caller.ts';

/** What every path begins with: the version of the interface. */
export const BASE_PATH = '/api/v1';

const account = operationsFor<Caller>();

/** Called with a token. Every change honours `Idempotency-Key`. */
export const workspace: typeof account = {
  ...account,
  change: (spec) => account.change({ idempotent: true, ...spec }),
};

/** Called without a token. */
export const open = operationsFor<undefined>();

/** What a handler takes; `Parts` are the validated `params`, `query` and `body` that it uses. */
export type WorkspaceRead<Parts = unknown> = RequestContext<Caller> & Parts & { readonly db: Database };
export type WorkspaceChange<Parts = unknown> = RequestContext<Caller> & Parts & { readonly tx: Transaction };
/** Of an operation that outlives any transaction. */
export type WorkspaceTurn<Parts = unknown> = WorkspaceRead<Parts> & {
  readonly idempotency: IdempotencyClaim | undefined;
};
