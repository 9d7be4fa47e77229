/** The latest bookings of a wallet. */
import type { Executor } from '../../kernel/db/database.ts';
import type { Bookings } from './verbs.ts';

const LISTED = 20;

interface BookingRow {
  readonly created_at: Date;
  readonly kind: string;
  readonly reference: string;
  readonly description: string;
  readonly available_cents: number;
  readonly held_cents: number;
}

/** The last bookings, newest first. */
export async function listBookings(executor: Executor, workspaceId: string): Promise<Bookings> {
  const { rows } = await executor.query<BookingRow>({
    text: `
      select booked.created_at, booked.kind, booked.reference, booked.description,
             coalesce(sum(entry.amount_cents) filter (where entry.account = 'available'), 0)::bigint as available_cents,
             coalesce(sum(entry.amount_cents) filter (where entry.account = 'held'), 0)::bigint as held_cents
      from (
        select * from domains.ledger_transactions where workspace_id = $1 order by created_at desc, id desc limit ${LISTED}
      ) booked
      left join domains.ledger_entries entry
        on entry.workspace_id = booked.workspace_id and entry.transaction_id = booked.id
      group by booked.id, booked.created_at, booked.kind, booked.reference, booked.description
      order by booked.created_at desc, booked.id desc`,
    values: [workspaceId],
  });
  return rows.map(({ created_at, ...booking }) => ({ at: created_at.toISOString(), ...booking }));
}
