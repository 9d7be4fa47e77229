/** The decision of a name's owner about its transfer to another registrar: noted, sent, and held against what the registry then says. */
import type { Transaction } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { type DomainRow, lockDomain } from '../portfolio/index.ts';
import { explainRefusal, type Refusal } from '../registry/explain-refusal.ts';
import type { TransferDecision } from '../registry/registry.ts';
import type { TransferOut } from '../tables.ts';
import { workspaceDb } from '../workspace-scope.ts';
import { DECIDE_AGAIN_MS, lookAtTransfer, type TransferDependencies } from './look-at-transfer.ts';
import { tellTransfer } from './tell-transfer.ts';
import { isPending } from './transfer-out.ts';

const ENDS = { approve: 'approved', reject: 'rejected' } as const;

/**
 * Written down before it is sent. `done`: the transfer has ended so already. Throws `not_found`, `transfer_failed` where none is pending,
 * and `pending_operation` where the opposite was decided and is under way.
 */
export async function noteDecision(
  { clock, db }: TransferDependencies,
  row: DomainRow,
  decision: TransferDecision,
): Promise<{ readonly kind: 'done' | 'noted'; readonly row: DomainRow }> {
  return db.transaction(async (tx) => {
    const scoped = workspaceDb(tx, row.workspace_id);
    const held = await lockDomain(scoped, row.id);
    if (held === undefined || held.state === 'gone') throw new ApiError('not_found');
    const { transfer_out: transfer } = held;
    if (transfer?.state === ENDS[decision]) return { kind: 'done', row: held };
    if (transfer === null || !isPending(transfer)) throw nothingPending(held);
    if (transfer.decision !== null && transfer.decision !== decision) {
      throw new ApiError('pending_operation', {
        message: `The transfer of ${row.name} is being ${ENDS[transfer.decision]} already. See GET /domains/${row.name} for what comes of it.`,
        details: { status: 'pendingTransfer', decision: transfer.decision },
      });
    }
    const noted = await scoped
      .updateTable('domains')
      .set({
        transfer_out: json({ ...transfer, decision, refusal: null }),
        transfer_out_look_at: new Date(clock.now().getTime() + DECIDE_AGAIN_MS),
      })
      .where('id', '=', row.id)
      .returningAll()
      .executeTakeFirstOrThrow();
    return { kind: 'noted', row: noted };
  });
}

function nothingPending({ name, transfer_out: transfer }: DomainRow): ApiError {
  return new ApiError('transfer_failed', {
    message:
      transfer === null
        ? `No registrar has asked for ${name}.`
        : `The transfer of ${name} to another registrar is ${transfer.state} already.`,
    details: { state: transfer?.state ?? null },
  });
}

export type DecisionEnd =
  | { readonly kind: 'done'; readonly transfer: TransferOut }
  | { readonly kind: 'refused'; readonly explanation: string; readonly transfer: TransferOut }
  /** Not known yet: it is sent again. */
  | { readonly kind: 'unknown' };

/** Sends what was noted, and asks the registry what has come of it. Throws `RegistryUnavailable`. */
export async function sendDecision(
  deps: TransferDependencies,
  row: DomainRow,
  decision: TransferDecision,
): Promise<DecisionEnd> {
  const outcome = await deps.registry.decideTransfer({ name: row.name, transactionId: mintId('trd'), decision });
  const after = await lookAtTransfer(deps, row);
  // A name that has left the portfolio meanwhile went with this transfer.
  const transfer = after?.transfer_out ?? row.transfer_out;
  if (transfer === null) return { kind: 'unknown' };
  if (transfer.state === ENDS[decision]) return { kind: 'done', transfer };
  if (!isPending(transfer)) return { kind: 'refused', explanation: `It is ${transfer.state} already.`, transfer };
  if (outcome.kind === 'completed') return { kind: 'done', transfer: await endAs(deps, row, ENDS[decision]) };
  // Sent again: that we have no credit there is nobody's fault but ours.
  if (outcome.kind !== 'rejected' || outcome.code === 'no_credit') return { kind: 'unknown' };
  const explanation = explainRefusal('transfer_decision', row.name, outcome);
  return { kind: 'refused', explanation, transfer: await dropDecision(deps, row, outcome) };
}

/** The registry has taken the decision, and does not show it yet, or tells of no transfer. */
function endAs({ clock, db }: TransferDependencies, row: DomainRow, state: TransferOut['state']): Promise<TransferOut> {
  const now = clock.now();
  return db.transaction((tx) =>
    changeTransfer(tx, row, (held) => ({ ...held, state, actsAt: now.toISOString() }), {
      transfer_out_untold: true,
      transfer_out_look_at: now,
    }),
  );
}

/** The owner may decide again. */
function dropDecision(
  { db, logger }: TransferDependencies,
  row: DomainRow,
  { code, reason }: Refusal,
): Promise<TransferOut> {
  logger.warn({ domain: row.name, code, reason }, 'the registry refused a decision about a transfer');
  return db.transaction((tx) => changeTransfer(tx, row, (held) => ({ ...held, decision: null, refusal: code }), {}));
}

async function changeTransfer(
  tx: Transaction,
  row: DomainRow,
  change: (held: TransferOut) => TransferOut,
  columns: Partial<Pick<DomainRow, 'transfer_out_untold' | 'transfer_out_look_at'>>,
): Promise<TransferOut> {
  const { id } = row;
  const scoped = workspaceDb(tx, row.workspace_id);
  const held = await lockDomain(scoped, id);
  if (held === undefined || held.transfer_out === null) throw new ApiError('not_found');
  const transfer = change(held.transfer_out);
  const set = { ...columns, transfer_out: json(transfer) };
  await scoped.updateTable('domains').set(set).where('id', '=', id).execute();
  if (transfer.state !== held.transfer_out.state) await tellTransfer(tx, row, transfer);
  return transfer;
}
