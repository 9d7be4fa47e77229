import { ApiError } from '../../kernel/http/errors.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { actorOf, type ProjectCaller } from '../access/caller.ts';
import { mayRefer } from '../access/references.ts';
import { checkConfig } from '../configuration/check-config.ts';
import { pickSet } from '../configuration/effective-config.ts';
import { appendEvent } from '../feed/append-event.ts';
import type { TenantDb, TenantTransaction } from '../store/tenant-db.ts';
import type { Actor } from '../tables.ts';
import {
  agentNotFound,
  countJoined,
  type HeldAgent,
  holdAgents,
  refusePinWithoutAgent,
  requirePublished,
  requireVersion,
} from './agent-membership.ts';
import { assignRolloutSlot } from './assign-rollout-slot.ts';
import { checkProfile } from './check-profile.ts';
import { checkReferences } from './check-references.ts';
import { countMoved, requireCustomer } from './customer-link.ts';
import { recordRevisions } from './revision-store.ts';
import type { SmithPatch } from './smith-state.ts';
import { getSmithRow, insertSmith, listByExternalId, type NewSmith, type SmithRow } from './smith-store.ts';

export const MAX_EXTERNAL_ID_LENGTH = 255;

/** The settings of a new smith; what is absent or null is not set. */
export type NewSmithSettings = SmithPatch & { readonly external_id?: string | null };

export interface ProvisionedSmith {
  readonly smith: SmithRow;
  readonly isNew: boolean;
}

/**
 * A new smith, or the live one that its (external_id, agent) already has, unchanged and without an event. Without an agent
 * any live smith of the external id will do: a second one would leave `user` alone ambiguous. Of calls that race for an
 * external id, one inserts; the others wait for it and read it. Throws `invalid_request`, `invalid_timezone`,
 * `unknown_provider`, `not_found` (param `agent_id`, `customer_id` or `pin`), `agent_unpublished` and `smith_exists`.
 */
export async function provisionSmith(
  tx: TenantTransaction,
  caller: ProjectCaller,
  body: NewSmithSettings,
): Promise<ProvisionedSmith> {
  checkProfile(body);
  checkConfig(body);
  const smith = newSmith(body);
  if (smith.agent_id !== null && !mayRefer(caller, 'agent')) throw agentNotFound();
  if (body.agent_id == null && Object.keys(smith.config).length === 0) smith.agent_id = await findDefaultAgent(tx);
  const isAnyAgents = body.agent_id == null;
  const existing = await findExisting(tx, smith, isAnyAgents);
  if (existing !== undefined) return { smith: existing, isNew: false };
  // The default agent is none that the caller named.
  await checkReferences(tx, caller, undefined, { ...smith, agent_id: body.agent_id ?? null });
  refusePinWithoutAgent(smith.agent_id, smith.pin);
  if (smith.customer_id !== null) await requireCustomer(tx, smith.customer_id);
  return insertNew(tx, smith, isAnyAgents, { tokenId: caller.tokenId, actor: actorOf(caller) });
}

/**
 * The smith of whoever comes to an agent's deployment, whose tenant has named the agent. Nobody's token makes it: it is made by
 * itself. Throws `not_found` (param `agent_id`), `agent_unpublished` and `smith_exists`.
 */
export async function provisionForDeployment(
  tx: TenantTransaction,
  body: { readonly external_id: string; readonly agent_id: string },
): Promise<SmithRow> {
  const smith = newSmith(body);
  const existing = await findExisting(tx, smith, false);
  if (existing !== undefined) return existing;
  const actor: Actor = { kind: 'smith', id: smith.id, token_id: '', email: '' };
  return (await insertNew(tx, smith, false, { tokenId: '', actor })).smith;
}

/** In whose name a smith is made. */
interface Creator {
  readonly tokenId: string;
  readonly actor: Actor;
}

async function insertNew(
  tx: TenantTransaction,
  smith: NewSmith,
  isAnyAgents: boolean,
  creator: Creator,
): Promise<ProvisionedSmith> {
  if (smith.agent_id !== null) {
    smith.rollout_slot = joinableSlot((await holdAgents(tx, [smith.agent_id])).get(smith.agent_id), smith.pin);
  }
  if (!(await insertSmith(tx, smith))) {
    // Another smith of the external id has moved to this agent meanwhile.
    const winner = await findExisting(tx, smith, isAnyAgents);
    if (winner !== undefined) return { smith: winner, isNew: false };
    throw new ApiError('smith_exists', {
      message: 'A smith with this `external_id` was archived at the same moment. Send the request again.',
    });
  }
  await recordCreation(tx, creator, smith);
  return { smith: await getSmithRow(tx, smith.id), isNew: true };
}

function newSmith(body: NewSmithSettings): NewSmith {
  return {
    id: mintId('smt'),
    external_id: body.external_id ?? null,
    display_name: body.display_name ?? null,
    locale: body.locale ?? null,
    timezone: body.timezone ?? null,
    customer_id: body.customer_id ?? null,
    metadata: body.metadata ?? {},
    agent_id: body.agent_id ?? null,
    pin: body.pin ?? null,
    config: pickSet(body),
    rollout_slot: 0,
  };
}

async function findDefaultAgent(db: TenantDb): Promise<string | null> {
  const row = await db
    .selectFrom('agents')
    .select('id')
    .where('slug', '=', 'default')
    .where('archived_at', 'is', null)
    .where('active_version', 'is not', null)
    .executeTakeFirst();
  return row?.id ?? null;
}

/** The smith to give instead of a new one. Without one, nobody else makes one until the transaction ends. */
async function findExisting(
  tx: TenantTransaction,
  { external_id: externalId, agent_id: agentId }: NewSmith,
  isAnyAgents: boolean,
): Promise<SmithRow | undefined> {
  if (externalId === null) return undefined;
  const find = async () => {
    const rows = await listByExternalId(tx, externalId);
    return isAnyAgents ? chooseAmong(rows, agentId) : rows.find((row) => row.agent_id === agentId);
  };
  const found = await find();
  if (found !== undefined) return found;
  // The unique index keeps apart what has one agent; who asks for any agent's has to wait for all of them.
  await tx.raw({
    text: `select pg_advisory_xact_lock(hashtextextended('smiths ' || $1::text || ' ' || $2::text, 0))`,
    values: [externalId],
  });
  return find();
}

/**
 * The one on the agent that a new smith would follow, else the one on none (it was made before there was a default agent),
 * else the only one. Throws `smith_exists` where several agents have one.
 */
function chooseAmong(rows: readonly SmithRow[], agentId: string | null): SmithRow | undefined {
  const fitting = [agentId, null].flatMap((id) => rows.find((row) => row.agent_id === id) ?? []);
  if (fitting[0] !== undefined || rows.length <= 1) return fitting[0] ?? rows[0];
  throw new ApiError('smith_exists', {
    param: 'agent_id',
    message: 'Several agents have a live smith with this `external_id`. Say which with `agent_id`.',
  });
}

function joinableSlot(agent: HeldAgent | undefined, pin: number | null): number {
  const published = requirePublished(agent);
  requireVersion(published, pin);
  return assignRolloutSlot(published.smith_ordinal + 1);
}

async function recordCreation(tx: TenantTransaction, { tokenId, actor }: Creator, smith: NewSmith): Promise<void> {
  await countMoved(tx, null, smith.customer_id);
  if (smith.agent_id !== null) await countJoined(tx, smith.agent_id, 1);
  await recordRevisions(tx, [smith.id], { tokenId });
  await appendEvent(tx, {
    type: 'smith.created',
    smithId: smith.id,
    actor,
    data: {
      smith_id: smith.id,
      agent_id: smith.agent_id,
      external_id: smith.external_id,
      customer_id: smith.customer_id,
    },
  });
}
