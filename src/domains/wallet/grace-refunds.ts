/**
 * What a name cost, given back as its registry has taken it back, and charged again where it turns out to be with us still. By turns: each
 * booking is of the name and its number, so that none is made twice.
 *
 *   grace_refund ─▶ grace_return ─▶ grace_refund:2 ─▶ grace_return:2 …
 */
import type { Executor } from '../../kernel/db/database.ts';
import { bookGraceRefund, bookGraceReturn } from './ledger.ts';

export interface RefundedName {
  readonly workspaceId: string;
  readonly domainId: string;
  readonly name: string;
}

interface Turns {
  readonly refunds: number;
  /** Of the last refund, where it was not charged again; else 0. */
  readonly openCents: number;
}

/** Gives back what a name cost: its orders have ended, and what they brought was revenue. False where it is given back already. */
export async function refundName(
  tx: Executor,
  { amountCents, ...name }: RefundedName & { readonly amountCents: number },
): Promise<boolean> {
  const { openCents, refunds } = await readTurns(tx, name);
  if (openCents > 0) return false;
  return bookGraceRefund(tx, { ...name, amountCents, turn: refunds + 1 });
}

/** What the name's owner has back, and has not paid again. */
export async function readRefunded(executor: Executor, name: RefundedName): Promise<number> {
  return (await readTurns(executor, name)).openCents;
}

/** Charges what was given back. False where the wallet does not cover it. */
export async function chargeRefunded(tx: Executor, name: RefundedName): Promise<boolean> {
  const { openCents, refunds } = await readTurns(tx, name);
  return openCents === 0 || bookGraceReturn(tx, { ...name, amountCents: openCents, turn: refunds });
}

async function readTurns(executor: Executor, { domainId, workspaceId }: RefundedName): Promise<Turns> {
  const { rows } = await executor.query<{ refunds: number; open_cents: number }>({
    text: `
      select count(*) filter (where booked.kind = 'grace_refund')::integer as refunds,
             coalesce(sum(entry.amount_cents), 0)::bigint as open_cents
      from domains.ledger_transactions booked
      join domains.ledger_entries entry
        on entry.workspace_id = booked.workspace_id and entry.transaction_id = booked.id and entry.account = 'available'
      where booked.workspace_id = $1 and booked.kind in ('grace_refund', 'grace_return')
        and starts_with(booked.reference, 'name:' || $2 || ':')`,
    values: [workspaceId, domainId],
  });
  return { refunds: rows[0]?.refunds ?? 0, openCents: rows[0]?.open_cents ?? 0 };
}
