/** Registrants who have not confirmed their addresses, for the operator. */
import type { Database } from '../../kernel/db/database.ts';

export interface UnverifiedRegistrant {
  readonly workspace_id: string;
  readonly name: string;
  readonly email: string;
  readonly asked_at: Date;
  readonly mailed_at: Date | null;
  readonly suspend_at: Date | null;
  readonly mail_problem: string | null;
  readonly suspended_names: number;
  /** What a registry says that does not let a name be suspended. */
  readonly hold_problem: string | null;
}

/** Those whose names are suspended first, or are already, come first; then those who were not reached. */
export async function listUnverified(db: Database, limit: number): Promise<readonly UnverifiedRegistrant[]> {
  const { rows } = await db.query<UnverifiedRegistrant>({
    text: `
      select verification.workspace_id, verification.name, email, asked_at, mailed_at, suspend_at, mail_problem,
        count(domain.id)::int as suspended_names, min(domain.hold_problem) as hold_problem
      from domains.registrant_verifications verification
      left join domains.domains domain on domain.workspace_id = verification.workspace_id and domain.unverified_at is not null
        and domain.state = 'active'
      where verified_at is null
      group by verification.workspace_id
      order by suspend_at nulls last, verification.workspace_id
      limit $1`,
    values: [limit],
  });
  return rows;
}
