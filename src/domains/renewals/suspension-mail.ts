/** Tells the owner of a name that it is out of the DNS, and until when it can be paid for. */
import { toUnicode } from 'tr46';
import type { Database } from '../../kernel/db/database.ts';
import type { Mailer } from '../mail/index.ts';
import { getRegistrant } from '../registrant.ts';
import { workspaceDb } from '../workspace-scope.ts';
import type { UnpaidRow } from './unpaid-store.ts';

export async function mailSuspension(db: Database, mailer: Mailer, row: UnpaidRow, deletedAt: Date): Promise<void> {
  const owner = await getRegistrant(workspaceDb(db, row.workspace_id));
  const { domain: unicode } = toUnicode(row.name);
  const shown = unicode === row.name ? row.name : `${unicode} (${row.name})`;
  const text = `Hello ${owner.name},

the term of ${shown} that was paid for ended on ${dayOf(row.billed_until)}. The domain is suspended: its
web sites and mailboxes cannot be reached until it is paid for.

To keep it, renew it: POST /domains/${row.name}/renew. It works again within minutes.

On ${dayOf(deletedAt)} it will be deleted.
`;
  await mailer.send({
    // The same each time: it is sent again where nobody knows whether it was taken.
    id: `msg_${row.id}_${dayOf(row.billed_until)}`,
    to: owner.email,
    subject: `${unicode} is suspended: its term was not paid for`,
    text,
  });
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}
