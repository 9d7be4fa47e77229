/** Mails the links that were asked for. A code is in its message alone: one that is sent again has another, and the first is void. */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import { hashToken } from '../../access/tokens.ts';
import type { Mailer } from '../../mail/index.ts';
import { BASE_PATH } from '../../operation.ts';
import { systemDb } from '../../workspace-scope.ts';

export const SEND_LINK = 'domains.sign-in-links';
export const LIFETIME_MS = 900_000;
/** Longer than requests are counted. */
const KEPT_MS = 86_400_000;

interface LinkDependencies {
  readonly clock: Clock;
  readonly db: Database;
  readonly mailer: Mailer;
  readonly publicUrl: string;
}

/** Before the jobs are started. */
export function defineSignIns(jobs: Jobs, deps: LinkDependencies): void {
  jobs.define<{ id: string }>(SEND_LINK, ({ data }) => sendLink(deps, data.id));
}

async function sendLink({ clock, db, mailer, publicUrl }: LinkDependencies, id: string): Promise<void> {
  const now = clock.now();
  const system = systemDb(db);
  await system
    .deleteFrom('sign_ins')
    .where('requested_at', '<', new Date(now.getTime() - KEPT_MS))
    .execute();
  const user = await system
    .selectFrom('sign_ins')
    .innerJoin('users', 'users.email_key', 'sign_ins.email_key')
    .select(['users.email', 'users.name'])
    .where('sign_ins.id', '=', id)
    .where('sign_ins.used_at', 'is', null)
    .executeTakeFirst();
  if (user === undefined) return;
  const code = randomBytes(32).toString('base64url');
  const expiresAt = new Date(now.getTime() + LIFETIME_MS);
  await system
    .updateTable('sign_ins')
    .set({ code_hash: hashToken(code), expires_at: expiresAt })
    .where('id', '=', id)
    .where('used_at', 'is', null)
    .execute();
  await mailer.send({
    to: user.email,
    subject: 'Sign in to the domain service',
    text: `Hello ${user.name},

somebody, probably you, asked for a new token of your workspace. To get it, open this page and press the button, until
${expiresAt.toISOString().slice(11, 16)} UTC:

${publicUrl}${BASE_PATH}/sign-in#${code}

A program gets it with POST /sign-ins/complete and the code behind the #. It works once.

If it was not you, do nothing. Whoever asked does not have the link.
`,
  });
}
