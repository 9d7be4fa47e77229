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
import { type AuthorizationJob, agentStateOf, findAgent, SEND_AUTHORIZATION } from './designated-agent.ts';
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
  readonly consentedBy: 'registrants' | 'designated_agent';
  readonly locksTransfers: boolean;
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
  jobs.define<AuthorizationJob>(SEND_AUTHORIZATION, ({ data }) => sendAuthorization(deps, data));
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

${change.locks_transfers ? `${LOCKS}\n\n` : ''}If you do not consent, do nothing: everything stays as it is.
`;
}

const LOCKS =
  'Where the rules of a domain want it, it cannot be transferred to another registrar for some weeks afterwards.';

/** Of who has authorized the registrar to consent, the first word of it: it says how to take that back, and whom to ask. */
const BY_AGENT = `Nobody was asked by mail, as you have authorized us to consent to such changes for you (as your designated agent). If you did not ask for this
one, change it back with PATCH /registrant, revoke your tokens, and write to us. DELETE /registrant/designated-agent withdraws the authorization.`;

async function tellChanged(
  { mailer }: ConsentDependencies,
  { after, before, consentedBy, locksTransfers, to }: ChangedJob,
): Promise<void> {
  const isByAgent = consentedBy === 'designated_agent';
  await mailer.send({
    to,
    subject: 'The holder of domains has changed',
    text: `Hello,

${isByAgent ? 'as was asked for with your account' : 'as was consented to'}, the holder of domains has changed:

${describe(before, after)}
${locksTransfers ? `\n${LOCKS}\n` : ''}${isByAgent ? `\n${BY_AGENT}\n` : ''}`,
  });
}

/** A code is in its message alone. */
async function sendAuthorization(
  { clock, db, mailer, publicUrl }: ConsentDependencies,
  { id, workspaceId }: AuthorizationJob,
): Promise<void> {
  const scoped = workspaceDb(db, workspaceId);
  const registrant = await getRegistrant(scoped);
  const row = await findAgent(scoped);
  if (row?.id !== id || agentStateOf(row, registrant, clock.now()) !== 'asked') return;
  const code = randomBytes(32).toString('base64url');
  const saved = await scoped
    .updateTable('designated_agents')
    .set({ code_hash: hashToken(code) })
    .where('id', '=', id)
    .where('given_at', 'is', null)
    .where('withdrawn_at', 'is', null)
    .returning('id')
    .executeTakeFirst();
  if (saved === undefined) return;
  await mailer.send({
    to: registrant.email,
    subject: 'May we consent to changes of the holder of your domains?',
    text: `Hello ${registrant.name},

with your account it was asked for that we consent for you, from now on, to changes of the holder of your domains (as your designated agent). Another name or
organization of the holder is then so as soon as it is asked for with your account, and you are told of it afterwards. Another e-mail address
takes your consent by mail all the same.

To authorize us, open this page and press the button, until ${row.expires_at.toISOString().slice(0, 10)}:

${publicUrl}${BASE_PATH}/designated-agent#${code}

You can withdraw it at any time: DELETE /registrant/designated-agent. If you do not want it, do nothing: everything stays as it is.
`,
  });
}

function describe(before: WantedRegistrant, after: WantedRegistrant): string {
  const shown = ({ email, name, organization }: WantedRegistrant) =>
    `${organization === null ? name : `${name}, ${organization}`} (${email})`;
  return `  until now  ${shown(before)}\n  then       ${shown(after)}`;
}
