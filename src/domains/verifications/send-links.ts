/**
 * Mails the links. A message is claimed before it is sent, for as long as that takes; one that was not accepted, or whose process died, is sent
 * again with the same Message-ID. Its link is another one then, as a code is in its message alone, and both work: the first may have arrived.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import type { Logger } from '../../kernel/log/log.ts';
import { hashToken } from '../access/tokens.ts';
import { type Mailer, RecipientRefused } from '../mail/index.ts';
import { BASE_PATH } from '../operation.ts';
import { addDays } from '../registry/term.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { composeLink } from './link-mail.ts';
import { LINK_DAYS, nextReminder, VERIFY_DAYS, type VerificationRow } from './verification.ts';

export interface LinkDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly mailer: Mailer;
  /** The service's root, without the base path. */
  readonly publicUrl: string;
}

const BATCH_SIZE = 100;
/** Longer than a message takes; one that was not accepted is sent again after it. */
const LEASE_MS = 900_000;
/** After so many the mail server counts as unreachable: the rest waits for the next run. */
const FAILURES_A_RUN = 3;
const NAMES_LISTED = 20;

/** Those that are due, once. Any number of processes may do so at a time. */
export async function sendLinks(deps: LinkDependencies, signal?: AbortSignal): Promise<void> {
  let failures = 0;
  for (const { workspace_id: workspaceId } of await listDue(deps)) {
    if (signal?.aborted === true || failures === FAILURES_A_RUN) return;
    const claimed = await claim(deps, workspaceId);
    if (claimed === undefined) continue;
    failures = (await send(deps, claimed)) === 'failed' ? failures + 1 : 0;
  }
}

function listDue({ clock, db }: LinkDependencies) {
  return systemDb(db)
    .selectFrom('registrant_verifications')
    .select('workspace_id')
    .where('verified_at', 'is', null)
    .where('mail_look_at', '<=', clock.now())
    .orderBy('mail_look_at')
    .limit(BATCH_SIZE)
    .execute();
}

interface ClaimedMail {
  readonly row: VerificationRow & { readonly message_id: string };
  readonly code: string;
}

/** Undefined: another process has it. */
async function claim({ clock, db }: LinkDependencies, workspaceId: string): Promise<ClaimedMail | undefined> {
  const now = clock.now();
  const code = randomBytes(32).toString('base64url');
  return db.transaction(async (tx) => {
    const scoped = workspaceDb(tx, workspaceId);
    const row = await scoped
      .updateTable('registrant_verifications')
      .set(({ fn, val }) => ({
        mail_look_at: new Date(now.getTime() + LEASE_MS),
        message_id: fn.coalesce('message_id', val(mintId('msg'))),
      }))
      .where('verified_at', 'is', null)
      .where('mail_look_at', '<=', now)
      .returningAll()
      .$narrowType<{ message_id: string }>()
      .executeTakeFirst();
    if (row === undefined) return undefined;
    await scoped.deleteFrom('registrant_links').where('expires_at', '<=', now).execute();
    await scoped
      .insertInto('registrant_links')
      .values({ code_hash: hashToken(code), expires_at: addDays(now, LINK_DAYS) })
      .execute();
    return { row, code };
  });
}

async function send(deps: LinkDependencies, { code, row }: ClaimedMail): Promise<'ended' | 'failed'> {
  const { clock, logger, mailer, publicUrl } = deps;
  const now = clock.now();
  const names = await namesOf(deps, row.workspace_id);
  if (names.asked.names.length === 0) {
    await leave(deps, row);
    return 'ended';
  }
  const message = composeLink(row, {
    link: `${publicUrl}${BASE_PATH}/verify-registrant#${code}`,
    linkEndsAt: addDays(now, LINK_DAYS),
    suspendAt: row.suspend_at ?? addDays(now, VERIFY_DAYS),
    ...names,
    now,
  });
  try {
    await mailer.send(message);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    if (error instanceof RecipientRefused) {
      // An address that takes nothing is not confirmed: the days have begun.
      await note(deps, row, { mail_problem: problem });
      logger.warn({ workspaceId: row.workspace_id, problem }, 'the address of a registrant takes no mail');
      return 'ended';
    }
    await saveProblem(deps, row, problem);
    logger.error({ err: error, workspaceId: row.workspace_id }, 'a registrant was not mailed; it is tried again');
    return 'failed';
  }
  await note(deps, row, { mailed_at: clock.now(), mail_problem: null });
  return 'ended';
}

/** Nothing where the registrant has changed, or another message was asked for, meanwhile: that one is about to be sent. */
async function note(
  { clock, db }: LinkDependencies,
  row: ClaimedMail['row'],
  columns: Partial<Pick<VerificationRow, 'mailed_at' | 'mail_problem'>>,
): Promise<void> {
  const now = clock.now();
  const suspendAt = row.suspend_at ?? addDays(now, VERIFY_DAYS);
  await workspaceDb(db, row.workspace_id)
    .updateTable('registrant_verifications')
    .set({ ...columns, suspend_at: suspendAt, mail_look_at: nextReminder(suspendAt, now), message_id: null })
    .where('message_id', '=', row.message_id)
    .execute();
}

/** The names are gone. It goes on where there is another one. */
async function leave({ db }: LinkDependencies, row: ClaimedMail['row']): Promise<void> {
  await workspaceDb(db, row.workspace_id)
    .updateTable('registrant_verifications')
    .set({ mail_look_at: null, message_id: null })
    .where('message_id', '=', row.message_id)
    .execute();
}

async function saveProblem({ db }: LinkDependencies, row: ClaimedMail['row'], problem: string): Promise<void> {
  await workspaceDb(db, row.workspace_id)
    .updateTable('registrant_verifications')
    .set({ mail_problem: problem })
    .where('message_id', '=', row.message_id)
    .execute();
}

/** Some of the names that are at stake, and of those that are suspended already. */
async function namesOf({ db }: LinkDependencies, workspaceId: string) {
  const scoped = workspaceDb(db, workspaceId);
  const names = scoped
    .selectFrom('domains')
    .select('name')
    .where('state', '=', 'active')
    .orderBy('name')
    .limit(NAMES_LISTED + 1);
  const [asked, suspended] = await Promise.all([
    names.where('registrant_asked_at', 'is not', null).execute(),
    names.where('unverified_at', 'is not', null).where('held_at', 'is not', null).execute(),
  ]);
  const shown = (rows: readonly { readonly name: string }[]) => ({
    names: rows.slice(0, NAMES_LISTED).map(({ name }) => name),
    hasMore: rows.length > NAMES_LISTED,
  });
  return { asked: shown(asked), suspended: shown(suspended) };
}
