import { isUniqueViolation } from '../../../kernel/db/sql-errors.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { actorOf, type ProjectCaller } from '../../access/caller.ts';
import { inheritedConfig } from '../../configuration/effective-config.ts';
import { appendEvent } from '../../feed/append-event.ts';
import {
  countJoined,
  type HeldAgent,
  type JoinedSmith,
  joinAgent,
  type PublishedAgent,
  recordRevisions,
  requirePublished,
} from '../../smiths/index.ts';
import type { TenantDb, TenantTransaction } from '../../store/tenant-db.ts';
import type { SmithConfig } from '../../tables.ts';
import type { AttachOut } from './schema.ts';
import { findVersion } from './store.ts';

/** One request's attaching of smiths to one agent, batch by batch. */
export interface Attachment {
  readonly tx: TenantTransaction;
  readonly caller: ProjectCaller;
  readonly agent: PublishedAgent;
  /** What the agent gives on its active version, and on the one that is being rolled out. */
  readonly active: SmithConfig;
  readonly rollout: SmithConfig;
  joined: number;
}

/** The agent is held by the transaction. Throws `not_found` without one, `agent_unpublished`. */
export async function beginAttachment(
  tx: TenantTransaction,
  caller: ProjectCaller,
  held: HeldAgent | undefined,
): Promise<Attachment> {
  const agent = requirePublished(held);
  const active = await getConfig(tx, agent.id, agent.active_version);
  const rollout = agent.rollout_version === null ? active : await getConfig(tx, agent.id, agent.rollout_version);
  return { tx, caller, agent, active, rollout, joined: 0 };
}

async function getConfig(db: TenantDb, agentId: string, version: number): Promise<SmithConfig> {
  const row = await findVersion(db, agentId, version);
  if (row === undefined) throw new Error(`agent ${agentId} refers to its version ${version}, which has no row`);
  return inheritedConfig(row.snapshot);
}

/** Lets these smiths follow the agent. Throws `smith_exists` when two would have one external id there. */
export async function joinBatch(attachment: Attachment, smithIds: readonly string[]): Promise<AttachOut['attached']> {
  if (smithIds.length === 0) return [];
  const { tx, caller, agent } = attachment;
  const joined = await joinAgent(tx, attachment, smithIds).catch((error: unknown) => {
    throw isUniqueViolation(error, 'smiths_live_external_id') ? externalIdTaken() : error;
  });
  attachment.joined += joined.length;
  await countJoined(tx, agent.id, joined.length);
  await recordRevisions(tx, smithIds, { tokenId: caller.tokenId });
  await appendUpdates(attachment, joined);
  return joined.map(({ id, overrideKeys }) => ({ smith_id: id, override_keys: overrideKeys }));
}

/** One event a smith; the connection takes them without waiting for each answer. */
async function appendUpdates({ tx, caller, agent }: Attachment, smiths: readonly JoinedSmith[]): Promise<void> {
  const actor = actorOf(caller);
  await Promise.all(
    smiths.map(({ id, droppedKeys, pinned }) =>
      appendEvent(tx, {
        type: 'smith.updated',
        smithId: id,
        actor,
        data: {
          smith_id: id,
          changed: ['agent_id'],
          cleared: [...(pinned ? ['pin'] : []), ...droppedKeys],
          agent_id: agent.id,
          pin_changed: pinned,
        },
      }),
    ),
  );
}

function externalIdTaken(): ApiError {
  return new ApiError('smith_exists', {
    message:
      'Two of these smiths would have the same `external_id` on this agent, or it has a live smith with one of them. ' +
      'Nothing was attached. Archive one of each pair first.',
  });
}
