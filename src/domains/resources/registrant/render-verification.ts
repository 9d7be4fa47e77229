import { findVerification, isAskedAbout, stateOf } from '../../verifications/index.ts';
import type { WorkspaceDb } from '../../workspace-scope.ts';
import type { Verification } from './schema.ts';

const NOT_REQUIRED: Verification = {
  state: 'not_required',
  asked_at: null,
  mailed_at: null,
  mail_problem: null,
  suspends_at: null,
  verified_at: null,
};

export async function renderVerification(db: WorkspaceDb, now: Date): Promise<Verification> {
  const row = await findVerification(db);
  if (row === undefined || (row.verified_at === null && !(await isAskedAbout(db)))) return NOT_REQUIRED;
  const isVerified = row.verified_at !== null;
  return {
    state: stateOf(row, now),
    asked_at: row.asked_at.toISOString(),
    mailed_at: row.mailed_at?.toISOString() ?? null,
    mail_problem: row.mail_problem,
    suspends_at: isVerified ? null : (row.suspend_at?.toISOString() ?? null),
    verified_at: row.verified_at?.toISOString() ?? null,
  };
}
