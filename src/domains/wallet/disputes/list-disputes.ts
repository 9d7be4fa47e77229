import type { Executor } from '../../../kernel/db/database.ts';
import type { DisputeState } from '../../tables.ts';
import { type SystemDb, workspaceDb } from '../../workspace-scope.ts';

interface ListedDispute {
  readonly workspace_id: string;
  readonly id: string;
  readonly payment_id: string;
  readonly amount_cents: number;
  readonly state: DisputeState;
  readonly created_at: Date;
  /** What the workspace has now. */
  readonly available_cents: number;
}

/** Of every workspace, the newest first. */
export function listDisputes(db: SystemDb, limit: number): Promise<ListedDispute[]> {
  return db
    .selectFrom('disputes')
    .innerJoin('wallets', 'wallets.workspace_id', 'disputes.workspace_id')
    .select(['disputes.workspace_id', 'id', 'payment_id', 'amount_cents', 'state', 'created_at', 'available_cents'])
    .orderBy('created_at', 'desc')
    .limit(limit)
    .execute();
}

/** Whether the card's holder has the money of this payment back from the bank, or is about to. */
export async function isDisputed(executor: Executor, workspaceId: string, paymentId: string): Promise<boolean> {
  const found = await workspaceDb(executor, workspaceId)
    .selectFrom('disputes')
    .select('id')
    .where('payment_id', '=', paymentId)
    .where('state', '<>', 'won')
    .executeTakeFirst();
  return found !== undefined;
}
