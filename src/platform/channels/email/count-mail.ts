import type { TenantDb } from '../../store/tenant-db.ts';

/** More than anybody writes by hand; two machines that answer each other, and say it of nothing, are soon there. */
const MAX_MAILS_AN_HOUR = 30;

/** Counts one more of the sender's to a mailbox. Whether it is still one of a person's. */
export async function countMail(db: TenantDb, mailboxId: string, sender: string, now: Date): Promise<boolean> {
  const { rows } = await db.raw<{ mails: number }>({
    text: `
      insert into email_senders as s (project_id, deployment_id, sender, hour, mails)
      values ($1, $2, $3, date_trunc('hour', $4::timestamptz), 1)
      on conflict (project_id, deployment_id, sender) do update set
        hour = excluded.hour, mails = case when s.hour = excluded.hour then s.mails else 0 end + 1
      returning mails`,
    values: [mailboxId, sender, now],
  });
  return (rows[0]?.mails ?? 0) <= MAX_MAILS_AN_HOUR;
}
