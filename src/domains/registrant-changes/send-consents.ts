/**
 * Mails the links by which registrants consent, and tells both once the change is made. A code is in its message alone: one that is sent again
 * has another, and the first is void.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import { hashToken } from '../access/tokens.ts';
import type { Mailer } from '../mail/index.ts';
import { BASE_PATH } from '../operation.ts';
import { getRegistrant } from '../registrant.ts';
import { workspaceDb } from '../workspace-scope.ts';
import { findChange, type RegistrantChangeRow, type WantedRegistrant } from './registrant-change.ts';

export const SEND_CONSENT = 'domains.registrant-consents';
export const TELL_CHANGED = 'domains.registrant-changed';

/** `both`: one address is that of the present and of the next registrant. */
export type ConsentRole = 'present' | 'next' | 'both';

export interface ConsentJob {
  readonly workspaceId: string;
  readonly id: string;
  readonly role: ConsentRole;
}

export interface ChangedJob {
  readonly to: string;
  readonly before: WantedRegistrant;
  readonly after: WantedRegistrant;
}

interface ConsentDependencies {
  readonly clock: Clock;
  readonly db: Database;
  readonly mailer: Mailer;
  /** The service's root, without the base path. */
  readonly publicUrl: string;
}

/** Before the jobs are started. */
export function defineRegistrantChanges(jobs: Jobs, deps: ConsentDependencies): void {
  jobs.define<ConsentJob>(SEND_CONSENT, ({ data }) => sendConsent(deps, data));
  jobs.define<ChangedJob>(TELL_CHANGED, ({ data }) => tellChanged(deps, data));
}

async function sendConsent({ clock, db, mailer, publicUrl }: ConsentDependencies, job: ConsentJob): Promise<void> {
  const scoped = workspaceDb(db, job.workspaceId);
  const change = await findChange(scoped, clock.now());
  if (change?.id !== job.id) return;
  const present = await getRegistrant(scoped);
  const code = randomBytes(32).toString('base64url');
  const codeHash = hashToken(code);
  const saved = await scoped
    .updateTable('registrant_changes')
    .set({
      ...(job.role === 'next' ? {} : { present_code_hash: codeHash }),
      ...(job.role === 'next' ? { next_code_hash: codeHash } : {}),
    })
    .where('id', '=', job.id)
    .where('ended_at', 'is', null)
    .returning('id')
    .executeTakeFirst();
  if (saved === undefined) return;
  const before = { name: present.name, organization: present.contact.organization ?? null, email: present.email };
  const link = `${publicUrl}${BASE_PATH}/consent#${code}`;
  await mailer.send({
    to: job.role === 'next' ? change.email : present.email,
    subject: 'Please consent to the change of the holder of domains',
    text: consentText(job.role, { before, change, link }),
  });
}

function consentText(
  role: ConsentRole,
  {
    before,
    change,
    link,
  }: { readonly before: WantedRegistrant; readonly change: RegistrantChangeRow; readonly link: string },
): string {
  const you = role === 'next' ? 'you are to be the holder of domains' : 'another holder of your domains was asked for';
  return `Hello ${role === 'next' ? change.name : before.name},

${you}:

${describe(before, change)}

To consent, open this page and press the button, until ${change.expires_at.toISOString().slice(0, 10)}:

${link}

${change.locks_transfers ? 'Where the rules of a domain want it, it cannot be transferred to another registrar for some weeks afterwards.\n\n' : ''}If you do not consent, do nothing: everything stays as it is.
`;
}

async function tellChanged({ mailer }: ConsentDependencies, { after, before, to }: ChangedJob): Promise<void> {
  await mailer.send({
    to,
    subject: 'The holder of domains has changed',
    text: `Hello,

as was consented to, the holder of domains has changed:

${describe(before, after)}
`,
  });
}

function describe(before: WantedRegistrant, after: WantedRegistrant): string {
  const shown = ({ email, name, organization }: WantedRegistrant) =>
    `${organization === null ? name : `${name}, ${organization}`} (${email})`;
  return `  until now  ${shown(before)}\n  then       ${shown(after)}`;
}
