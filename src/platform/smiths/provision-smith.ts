import { ApiError } from '../../kernel/http/errors.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { actorOf, type ProjectCaller } from '../access/caller.ts';
import { mayRefer } from '../access/references.ts';
import { checkConfig } from '../configuration/check-config.ts';
import { pickSet } from '../configuration/effective-config.ts';
import { appendEvent } from '../feed/append-event.ts';
import type { TenantDb, TenantTransaction } from '../store/tenant-db.ts';
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
import { findProvisioned, getSmithRow, insertSmith, type NewSmith, type SmithRow } from './smith-store.ts';

export const MAX_EXTERNAL_ID_LENGTH = 255;

/** The settings of a new smith; what is absent or null is not set. */
export type NewSmithSettings = SmithPatch & { readonly external_id?: string | null };

export interface ProvisionedSmith {
  readonly smith: SmithRow;
  readonly isNew: boolean;
}

/**
 * A new smith, or the live one that its (external_id, agent) already has, unchanged and without an event. Of calls that
 * race, the unique index lets one insert; the others wait for it and read it. Throws `invalid_request`, `invalid_timezone`,
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
  // One that was made before the project had a default agent has not become another smith by that.
  const agentIds = body.agent_id == null ? [smith.agent_id, null] : [smith.agent_id];

  const existing = await findExisting(tx, smith, agentIds);
  if (existing !== undefined) return { smith: existing, isNew: false };
  // The default agent is none that the caller named.
  await checkReferences(tx, caller, undefined, { ...smith, agent_id: body.agent_id ?? null });
  refusePinWithoutAgent(smith.agent_id, smith.pin);
  if (smith.customer_id !== null) await requireCustomer(tx, smith.customer_id);
  if (smith.agent_id !== null) {
    smith.rollout_slot = joinableSlot((await holdAgents(tx, [smith.agent_id])).get(smith.agent_id), smith.pin);
  }
  if (!(await insertSmith(tx, smith))) {
    const winner = await findExisting(tx, smith, agentIds);
    if (winner !== undefined) return { smith: winner, isNew: false };
    throw new ApiError('smith_exists', {
      message: 'A smith with this `external_id` was archived at the same moment. Send the request again.',
    });
  }
  await recordCreation(tx, caller, smith);
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

async function findExisting(
  db: TenantDb,
  smith: NewSmith,
  agentIds: readonly (string | null)[],
): Promise<SmithRow | undefined> {
  return smith.external_id === null ? undefined : findProvisioned(db, smith.external_id, agentIds);
}

function joinableSlot(agent: HeldAgent | undefined, pin: number | null): number {
  const published = requirePublished(agent);
  requireVersion(published, pin);
  return assignRolloutSlot(published.smith_ordinal + 1);
}

async function recordCreation(tx: TenantTransaction, caller: ProjectCaller, smith: NewSmith): Promise<void> {
  await countMoved(tx, null, smith.customer_id);
  if (smith.agent_id !== null) await countJoined(tx, smith.agent_id, 1);
  await recordRevisions(tx, [smith.id], { tokenId: caller.tokenId });
  await appendEvent(tx, {
    type: 'smith.created',
    smithId: smith.id,
    actor: actorOf(caller),
    data: {
      smith_id: smith.id,
      agent_id: smith.agent_id,
      external_id: smith.external_id,
      customer_id: smith.customer_id,
    },
  });
}
