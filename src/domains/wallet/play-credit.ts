/**
 * Play credit: what a workspace was given at sign-up while the registry was simulated (`demo` in ledger.ts). At a real registry it ends:
 * what is left of it is booked back once, as `void`, also where that is nothing. Money that is in the wallet besides is the workspace's:
 * what it has spent, it has spent of the play credit first.
 */
import type { Executor } from '../../kernel/db/database.ts';
import { bookVoid, lockWallet } from './ledger.ts';

export interface PlayCredit {
  readonly workspaceId: string;
  /** Not spent. Orders under way may hold some of it. */
  readonly leftCents: number;
}

/** Play credit that has not ended yet, by workspace; of all workspaces, or of one. */
export async function listPlayCredit(executor: Executor, workspaceId?: string): Promise<PlayCredit[]> {
  const { rows } = await executor.query<{ workspace_id: string; left_cents: number }>({
    text: `
      select wallet.workspace_id,
             least(credited.amount_cents, greatest(0, credited.amount_cents - coalesce(spent.cents, 0)))::bigint as left_cents
      from domains.wallets wallet
      join domains.ledger_transactions given on given.reference = 'demo:' || wallet.workspace_id
      join domains.ledger_entries credited
        on credited.workspace_id = given.workspace_id and credited.transaction_id = given.id and credited.account = 'available'
      left join lateral (
        select sum(entry.amount_cents) as cents
        from domains.ledger_entries entry
        join domains.ledger_transactions booked
          on booked.workspace_id = entry.workspace_id and booked.id = entry.transaction_id
        where entry.workspace_id = wallet.workspace_id and entry.account = 'sales'
          and not exists (
            select from domains.ledger_transactions charged
            where charged.workspace_id = booked.workspace_id and charged.kind = 'charge'
              and charged.id = split_part(booked.reference, ':', 2) || '_hold'
          )
      ) spent on true
      where ($1::text is null or wallet.workspace_id = $1)
        and not exists (select from domains.ledger_transactions ended where ended.reference = 'demo_void:' || wallet.workspace_id)
      order by wallet.workspace_id`,
    values: [workspaceId ?? null],
  });
  return rows.map(({ workspace_id, left_cents }) => ({ workspaceId: workspace_id, leftCents: left_cents }));
}

/** Ends the workspace's play credit. The cents that were void; undefined: it has ended before. */
export async function voidPlayCredit(tx: Executor, workspaceId: string): Promise<number | undefined> {
  const { availableCents } = await lockWallet(tx, workspaceId);
  const [credit] = await listPlayCredit(tx, workspaceId);
  if (credit === undefined) return undefined;
  const amountCents = Math.min(credit.leftCents, Math.max(0, availableCents));
  await bookVoid(tx, workspaceId, amountCents);
  return amountCents;
}
