/** Rows of agents and their versions. Every query is already scoped to one project by the handle that it is given. */
import { type Selectable, sql } from 'kysely';
import { pageById } from '../../../kernel/db/kysely.ts';
import { json } from '../../../kernel/db/values.ts';
import type { PageRequest } from '../../../kernel/http/paging.ts';
import { NEWEST_VERSION_FIRST, versionBefore } from '../../configuration/page-by-version.ts';
import { type FittedPage, fitPage } from '../../store/fit-page.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { AgentDraft, TenantTables } from '../../tables.ts';

export type AgentRow = Omit<
  Selectable<TenantTables['agents']>,
  'project_id' | 'latest_version' | 'smith_ordinal' | 'archived_at'
> & { last_activity_at: Date | null };

/** An agent's own row, held by this transaction. */
export type LockedAgent = Pick<
  Selectable<TenantTables['agents']>,
  'id' | 'slug' | 'name' | 'draft' | 'active_version' | 'latest_version' | 'smith_count'
>;

export type VersionRow = Omit<Selectable<TenantTables['agent_versions']>, 'project_id' | 'agent_id'>;

export interface NewAgent {
  id: string;
  slug: string | null;
  name: string;
  draft: AgentDraft;
}

export interface NewVersion {
  agent_id: string;
  version: number;
  snapshot: AgentDraft;
  created_by: string;
  note: string | null;
}

export interface AgentChange {
  name?: string;
  draft?: AgentDraft;
  active_version?: number;
  latest_version?: number;
  rollout_version?: number | null;
  rollout_percent?: number;
}

function selectAgents(db: TenantDb) {
  return db
    .selectFrom('agents')
    .select([
      'id',
      'slug',
      'name',
      'draft',
      'active_version',
      'rollout_version',
      'rollout_percent',
      'smith_count',
      'created_at',
      'updated_at',
    ])
    .select((eb) =>
      eb
        .selectFrom('runs')
        .select('runs.created_at')
        .whereRef('runs.agent_id', '=', 'agents.id')
        .orderBy('runs.id', 'desc')
        .limit(1)
        .as('last_activity_at'),
    )
    .where('agents.archived_at', 'is', null);
}

/** False when another live agent has the slug; waits for one that is just being made. */
export async function insertAgent(db: TenantDb, agent: NewAgent): Promise<boolean> {
  const row = await db
    .insertInto('agents')
    .values({ ...agent, draft: json(agent.draft) })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

export async function findAgent(db: TenantDb, id: string): Promise<AgentRow | undefined> {
  return selectAgents(db).where('agents.id', '=', id).executeTakeFirst();
}

export async function listAgents(
  db: TenantDb,
  page: PageRequest,
  slug: string | undefined,
): Promise<FittedPage<AgentRow>> {
  const query = slug === undefined ? selectAgents(db) : selectAgents(db).where('agents.slug', '=', slug);
  const sized = query.select(sql<number>`octet_length(agents.draft::text)`.as('size'));
  return fitPage(db, pageById(sized, 'agents.id', page));
}

/** Holds the agent until the transaction ends, so that changes to it happen one after the other. */
export async function lockAgent(db: TenantDb, id: string): Promise<LockedAgent | undefined> {
  return db
    .selectFrom('agents')
    .select(['id', 'slug', 'name', 'draft', 'active_version', 'latest_version', 'smith_count'])
    .where('id', '=', id)
    .where('archived_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst();
}

export async function updateAgent(db: TenantDb, id: string, { draft, ...change }: AgentChange): Promise<void> {
  await db
    .updateTable('agents')
    .set({ ...change, ...(draft === undefined ? {} : { draft: json(draft) }), updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}

export async function archiveAgent(db: TenantDb, id: string): Promise<void> {
  await db.updateTable('agents').set({ archived_at: sql<Date>`now()` }).where('id', '=', id).execute();
}

function selectVersions(db: TenantDb, agentId: string) {
  return db
    .selectFrom('agent_versions')
    .select(['version', 'snapshot', 'created_by', 'note', 'created_at'])
    .where('agent_id', '=', agentId);
}

export async function insertVersion(db: TenantDb, version: NewVersion): Promise<void> {
  await db
    .insertInto('agent_versions')
    .values({ ...version, snapshot: json(version.snapshot) })
    .execute();
}

export async function findVersion(db: TenantDb, agentId: string, version: number): Promise<VersionRow | undefined> {
  return selectVersions(db, agentId).where('version', '=', version).executeTakeFirst();
}

export async function listVersions(db: TenantDb, agentId: string, page: PageRequest): Promise<FittedPage<VersionRow>> {
  const query = selectVersions(db, agentId)
    .select(sql<number>`octet_length(snapshot::text)`.as('size'))
    .where('version', '<', versionBefore(page))
    .orderBy('version', 'desc')
    .limit(page.limit + 1);
  return fitPage(db, query, NEWEST_VERSION_FIRST);
}
