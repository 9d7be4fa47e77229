/** Has a change of the registrant wait for its consents, in place of one that waited before. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import { addDays } from '../registry/term.ts';
import { countRequest } from '../verifications/index.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { CONSENT_DAYS, type WantedRegistrant } from './registrant-change.ts';
import { type ConsentRole, SEND_CONSENT } from './send-consents.ts';

export interface ChangeRequest {
  readonly presentEmail: string;
  readonly wanted: WantedRegistrant;
  readonly locksTransfers: boolean;
}

/** The registrant is locked. Throws `email_taken` and `rate_limit_exceeded`. */
export async function requestChange(
  { clock, jobs }: { readonly clock: Clock; readonly jobs: Jobs },
  tx: Transaction,
  workspaceId: string,
  { locksTransfers, presentEmail, wanted }: ChangeRequest,
): Promise<void> {
  const now = clock.now();
  const db = workspaceDb(tx, workspaceId);
  const emailKey = wanted.email.toLowerCase();
  if (await isTaken(tx, workspaceId, emailKey)) throw new ApiError('email_taken', { param: 'email' });
  const known = await db.selectFrom('registrant_changes').selectAll().forUpdate().executeTakeFirst();
  const { at, columns } = countRequest(known ?? { requests: 0, requests_since: null }, now);
  if (at > now) {
    throw new ApiError('rate_limit_exceeded', {
      message: 'Too many changes were asked for lately, each of which is mailed. Ask again later.',
      retryAfterSeconds: Math.ceil((at.getTime() - now.getTime()) / 1_000),
    });
  }
  const id = mintId('rgc');
  const change = {
    ...wanted,
    ...columns,
    id,
    email_key: emailKey,
    locks_transfers: locksTransfers,
    asked_at: now,
    expires_at: addDays(now, CONSENT_DAYS),
    present_code_hash: null,
    next_code_hash: null,
    present_consented_at: null,
    next_consented_at: null,
    ended_at: null,
  };
  if (known === undefined) await db.insertInto('registrant_changes').values(change).execute();
  else await db.updateTable('registrant_changes').set(change).execute();
  const roles: ConsentRole[] = presentEmail.toLowerCase() === emailKey ? ['both'] : ['present', 'next'];
  for (const role of roles) await jobs.enqueue(tx, SEND_CONSENT, { workspaceId, id, role });
}

async function isTaken(tx: Transaction, workspaceId: string, emailKey: string): Promise<boolean> {
  const other = await systemDb(tx)
    .selectFrom('users')
    .select('id')
    .where('email_key', '=', emailKey)
    .where('workspace_id', '<>', workspaceId)
    .executeTakeFirst();
  return other !== undefined;
}
