/**
 * The registrar as designated agent (ICANN's transfer policy, II.A.1.2): a registrant may authorize it beforehand to consent to changes of the registrant.
 * The authorization is given by whoever reads the mail of the address, as a consent is, so that a token alone gets around none.
 *
 *   (none) ──asked──▶ asked ──the link's button──▶ given ──▶ withdrawn, at any time
 *                       └── two weeks are over, or it is withdrawn: nothing was given
 *
 * It is of one address: another registrant, with another one, has authorized nobody. Another address takes the consent of both by mail all the same.
 */
import type { Selectable } from 'kysely';
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import type { Jobs } from '../../kernel/jobs/jobs.ts';
import { hashToken } from '../access/tokens.ts';
import { appendEvent } from '../events/index.ts';
import { lockRegistrant, type WorkspaceRegistrant } from '../registrant.ts';
import { addDays } from '../registry/term.ts';
import type { WorkspaceTables } from '../tables.ts';
import { countRequest } from '../verifications/index.ts';
import { systemDb, type WorkspaceDb, workspaceDb } from '../workspace-scope.ts';
import { CONSENT_DAYS } from './registrant-change.ts';

export type DesignatedAgentRow = Selectable<WorkspaceTables['designated_agents']>;

export const SEND_AUTHORIZATION = 'domains.designated-agents';

export interface AuthorizationJob {
  readonly workspaceId: string;
  readonly id: string;
}

export type AgentState = 'none' | 'asked' | 'given' | 'withdrawn';

export function agentStateOf(
  row: DesignatedAgentRow | undefined,
  { email }: Pick<WorkspaceRegistrant, 'email'>,
  now: Date,
): AgentState {
  if (row === undefined || row.email_key !== email.toLowerCase()) return 'none';
  if (row.withdrawn_at !== null) return 'withdrawn';
  if (row.given_at !== null) return 'given';
  return row.expires_at > now ? 'asked' : 'none';
}

export function findAgent(db: WorkspaceDb): Promise<DesignatedAgentRow | undefined> {
  return db.selectFrom('designated_agents').selectAll().executeTakeFirst();
}

/** Locked until the transaction ends; after the registrant. */
function lockAgent(db: WorkspaceDb): Promise<DesignatedAgentRow | undefined> {
  return db.selectFrom('designated_agents').selectAll().forUpdate().executeTakeFirst();
}

/** Has the link mailed, unless it was authorized already. Answers when it can be asked for again, where there were too many. */
export async function askAuthorization(
  { clock, jobs }: { readonly clock: Clock; readonly jobs: Jobs },
  tx: Transaction,
  workspaceId: string,
): Promise<Date | undefined> {
  const now = clock.now();
  const db = workspaceDb(tx, workspaceId);
  const registrant = await lockRegistrant(db);
  const known = await lockAgent(db);
  if (agentStateOf(known, registrant, now) === 'given') return undefined;
  const { at, columns } = countRequest(known ?? { requests: 0, requests_since: null }, now);
  if (at > now) return at;
  const id = mintId('agt');
  const asked = {
    ...columns,
    id,
    email_key: registrant.email.toLowerCase(),
    asked_at: now,
    expires_at: addDays(now, CONSENT_DAYS),
    code_hash: null,
    given_at: null,
    withdrawn_at: null,
  };
  if (known === undefined) await db.insertInto('designated_agents').values(asked).execute();
  else await db.updateTable('designated_agents').set(asked).execute();
  await jobs.enqueue(tx, SEND_AUTHORIZATION, { workspaceId, id });
  return undefined;
}

/** False: the code is not known, was used, has ended, or was mailed to another address than the present one. */
export async function giveAuthorization(
  { clock }: { readonly clock: Clock },
  tx: Transaction,
  code: string,
): Promise<boolean> {
  const codeHash = hashToken(code);
  const found = await systemDb(tx)
    .selectFrom('designated_agents')
    .select('workspace_id')
    .where('code_hash', '=', codeHash)
    .executeTakeFirst();
  if (found === undefined) return false;
  const now = clock.now();
  const db = workspaceDb(tx, found.workspace_id);
  const registrant = await lockRegistrant(db);
  // Looked at again under the lock: it is used once.
  const row = await lockAgent(db);
  const isSame = row?.code_hash != null && Buffer.from(row.code_hash).equals(codeHash);
  if (!isSame || agentStateOf(row, registrant, now) !== 'asked') return false;
  await db.updateTable('designated_agents').set({ given_at: now, code_hash: null }).execute();
  await appendEvent(tx, found.workspace_id, {
    type: 'registrant.agent_authorized',
    data: { email: registrant.email },
  });
  return true;
}

/** Nothing where none is given or asked for. The registrant is locked. */
export async function withdrawAuthorization(
  tx: Transaction,
  workspaceId: string,
  registrant: WorkspaceRegistrant,
  now: Date,
): Promise<void> {
  const db = workspaceDb(tx, workspaceId);
  const state = agentStateOf(await lockAgent(db), registrant, now);
  if (state !== 'asked' && state !== 'given') return;
  await db.updateTable('designated_agents').set({ withdrawn_at: now, code_hash: null }).execute();
  if (state === 'asked') return;
  await appendEvent(tx, workspaceId, { type: 'registrant.agent_withdrawn', data: { email: registrant.email } });
}

/**
 * Counts a change that the agent consents to, as its notice is mailed. `none`: it is not authorized; a date: when it can be asked for again. The
 * registrant is locked.
 */
export async function countAgentChange(
  db: WorkspaceDb,
  registrant: WorkspaceRegistrant,
  now: Date,
): Promise<'none' | 'counted' | Date> {
  const row = await lockAgent(db);
  if (row === undefined || agentStateOf(row, registrant, now) !== 'given') return 'none';
  const { at, columns } = countRequest(row, now);
  if (at > now) return at;
  await db.updateTable('designated_agents').set(columns).execute();
  return 'counted';
}
