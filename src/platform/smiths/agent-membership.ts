/**
 * The agent's side of having smiths: which version they may follow, their count, their rollout slots.
 *
 * Whatever changes smiths and agents together takes its locks in one order, or two changes could wait for each other:
 * customers by id → smiths by id → agents by id → unique keys.
 */
import { type Selectable, sql } from 'kysely';
import { ApiError } from '../../kernel/http/errors.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import type { TenantTables } from '../tables.ts';

/** A live agent, held by this transaction. */
export type HeldAgent = Pick<
  Selectable<TenantTables['agents']>,
  'id' | 'active_version' | 'latest_version' | 'rollout_version' | 'rollout_percent' | 'smith_ordinal'
>;

/** A held agent that smiths can follow. */
export interface PublishedAgent extends HeldAgent {
  active_version: number;
}

/** Holds these agents against others that add or remove smiths, or archive them. Archived and unknown ones are missing. */
export async function holdAgents(
  db: TenantDb,
  ids: readonly (string | null)[],
): Promise<ReadonlyMap<string, HeldAgent>> {
  const wanted = [...new Set(ids.filter((id) => id !== null))];
  if (wanted.length === 0) return new Map();
  const rows = await db
    .selectFrom('agents')
    .select(['id', 'active_version', 'latest_version', 'rollout_version', 'rollout_percent', 'smith_ordinal'])
    .where('id', 'in', wanted)
    .where('archived_at', 'is', null)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
  return new Map(rows.map((row) => [row.id, row]));
}

/** Throws `not_found` (param `agent_id`) for a missing agent, `agent_unpublished` for one without a version. */
export function requirePublished(agent: HeldAgent | undefined): PublishedAgent {
  if (agent === undefined) throw agentNotFound();
  if (agent.active_version === null) throw new ApiError('agent_unpublished', { param: 'agent_id' });
  return { ...agent, active_version: agent.active_version };
}

export function agentNotFound(): ApiError {
  return new ApiError('not_found', {
    param: 'agent_id',
    message: 'This token can get no such agent. Take an id from `GET /v1/agents`.',
  });
}

/** Throws `not_found` (param `pin`) for a version that the agent never had. Versions are numbered without gaps. */
export function requireVersion(agent: { readonly latest_version: number }, pin: number | null): void {
  if (pin === null || pin <= agent.latest_version) return;
  throw new ApiError('not_found', {
    param: 'pin',
    message: `The agent has no version ${pin}. Its newest is ${agent.latest_version}.`,
  });
}

/** A pin means nothing without an agent. Throws `invalid_request`. */
export function refusePinWithoutAgent(agentId: string | null, pin: number | null): void {
  if (agentId !== null || pin === null) return;
  throw new ApiError('invalid_request', {
    param: 'pin',
    message: 'Only a smith that follows an agent can be pinned. Send `agent_id` as well, or leave `pin` out.',
  });
}

/** Counts smiths that joined a held agent. */
export async function countJoined(db: TenantDb, agentId: string, count: number): Promise<void> {
  await db
    .updateTable('agents')
    .set({
      smith_count: sql<number>`smith_count + ${count}::int`,
      smith_ordinal: sql<number>`smith_ordinal + ${count}::int`,
    })
    .where('id', '=', agentId)
    .execute();
}

/** Counts smiths that left an agent. */
export async function countLeft(db: TenantDb, agentId: string, count: number): Promise<void> {
  await db
    .updateTable('agents')
    .set({ smith_count: sql<number>`smith_count - ${count}::int` })
    .where('id', '=', agentId)
    .execute();
}
