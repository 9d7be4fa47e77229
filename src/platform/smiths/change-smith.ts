/** Every change to a smith that exists: the row, its next revision, the customers' and agents' counts and the event, together. */
import { ApiError } from '../../kernel/http/errors.ts';
import { actorOf, type ProjectCaller } from '../access/caller.ts';
import { appendEvent } from '../feed/append-event.ts';
import type { TenantDb, TenantTransaction } from '../store/tenant-db.ts';
import {
  countJoined,
  countLeft,
  holdAgents,
  refusePinWithoutAgent,
  requirePublished,
  requireVersion,
} from './agent-membership.ts';
import { assignRolloutSlot } from './assign-rollout-slot.ts';
import { checkReferences } from './check-references.ts';
import { countMoved } from './customer-link.ts';
import { recordRevisions } from './revision-store.ts';
import { compareStates, type SmithState } from './smith-state.ts';
import { type LockedSmith, updateSmith } from './smith-store.ts';

export interface SmithChange {
  /** The smith as it is, held by the transaction; with both customers, if it gets another (`lockLinkedSmith`). */
  readonly smith: LockedSmith;
  readonly next: SmithState;
  readonly note?: string | null;
  /** Record a revision even if nothing differs. */
  readonly always?: boolean;
}

/**
 * Makes the smith `next`. Without a difference nothing is written: no revision, no event. Throws `not_found` (param
 * `agent_id`, `pin` or a setting), `agent_unpublished`, `smith_exists`, `invalid_request` for a pin without an agent, and
 * what `checkReferences` throws.
 */
export async function changeSmith(
  tx: TenantTransaction,
  caller: ProjectCaller,
  { smith, next, note = null, always = false }: SmithChange,
): Promise<void> {
  const { changed, cleared } = compareStates(smith, next);
  if (changed.length + cleared.length === 0 && !always) return;
  await checkReferences(tx, caller, smith, next);
  await countMoved(tx, smith.customer_id, next.customer_id);
  const slot = await placeSmith(tx, smith, next);
  if (!(await updateSmith(tx, smith.id, next, slot))) {
    throw new ApiError('smith_exists', {
      param: 'agent_id',
      message: 'That agent already has a live smith with this `external_id`. Use that one, or archive it first.',
    });
  }
  await recordRevisions(tx, [smith.id], { tokenId: caller.tokenId, note });
  await appendEvent(tx, {
    type: 'smith.updated',
    smithId: smith.id,
    actor: actorOf(caller),
    data: {
      smith_id: smith.id,
      changed,
      cleared,
      agent_id: next.agent_id,
      pin_changed: smith.pin !== next.pin,
    },
  });
}

/** Checks that the smith may follow its next agent and version, and keeps the agents' counts. Returns its slot. */
async function placeSmith(db: TenantDb, smith: LockedSmith, next: SmithState): Promise<number> {
  refusePinWithoutAgent(next.agent_id, next.pin);
  if (smith.agent_id === next.agent_id) {
    if (next.agent_id !== null && next.pin !== null && next.pin !== smith.pin) {
      requireVersion(await getAgentVersions(db, next.agent_id), next.pin);
    }
    return smith.rollout_slot;
  }
  const agents = await holdAgents(db, [smith.agent_id, next.agent_id]);
  if (smith.agent_id !== null) await countLeft(db, smith.agent_id, 1);
  if (next.agent_id === null) return 0;
  const agent = requirePublished(agents.get(next.agent_id));
  requireVersion(agent, next.pin);
  await countJoined(db, agent.id, 1);
  return assignRolloutSlot(agent.smith_ordinal + 1);
}

/** Not held: versions only become more. */
async function getAgentVersions(db: TenantDb, agentId: string): Promise<{ latest_version: number }> {
  return db.selectFrom('agents').select('latest_version').where('id', '=', agentId).executeTakeFirstOrThrow();
}
