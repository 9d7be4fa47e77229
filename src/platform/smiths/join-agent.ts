/**
 * Lets many smiths follow an agent in one statement. Settings of a smith that say what the agent says anyway are dropped;
 * the others stay and hide the agent's. The settings themselves never leave the database: they may be large.
 */

import { json } from '../../kernel/db/values.ts';
import { CONFIG_KEYS, type ConfigKey } from '../configuration/effective-config.ts';
import type { TenantTransaction } from '../store/tenant-db.ts';
import type { SmithConfig } from '../tables.ts';
import type { PublishedAgent } from './agent-membership.ts';
import { rolloutSlotSql } from './assign-rollout-slot.ts';

export interface Joining {
  readonly agent: PublishedAgent;
  /** What the agent gives to a smith on its active version. */
  readonly active: SmithConfig;
  /** … and to one that the rollout reaches. */
  readonly rollout: SmithConfig;
  /** How many joined earlier in this transaction, after the agent was read. */
  readonly joined: number;
}

export interface JoinedSmith {
  id: string;
  overrideKeys: ConfigKey[];
  droppedKeys: ConfigKey[];
  /** Whether it was pinned to a version of the agent that it followed before. */
  pinned: boolean;
}

/** The smiths are held by the transaction and do not follow the agent yet. Each row counts its next revision. */
export async function joinAgent(
  tx: TenantTransaction,
  joining: Joining,
  smithIds: readonly string[],
): Promise<JoinedSmith[]> {
  const { agent } = joining;
  const { rows } = await tx.raw<{ id: string; own: string[]; before: string[]; pinned: boolean }>({
    ...statement,
    values: [
      agent.id,
      smithIds,
      agent.smith_ordinal + joining.joined,
      agent.rollout_version === null ? 0 : agent.rollout_percent,
      json(joining.active),
      json(joining.rollout),
    ],
  });
  return rows.map(({ id, own, before, pinned }) => ({
    id,
    pinned,
    overrideKeys: CONFIG_KEYS.filter((key) => own.includes(key)),
    droppedKeys: CONFIG_KEYS.filter((key) => before.includes(key) && !own.includes(key)),
  }));
}

const statement = {
  text: `
    with joining as (
      select smith.id, smith.config, smith.pin, ${rolloutSlotSql('$4::bigint + asked.ordinal')} as slot
      from unnest($3::text[]) with ordinality as asked (id, ordinal)
      join smiths smith on smith.project_id = $1 and smith.id = asked.id
    ), kept as (
      select id, slot, config as before, pin is not null as pinned, (
        select coalesce(jsonb_object_agg(own.key, own.value), '{}')
        from jsonb_each(config) as own
        where own.value is distinct from case when slot < $5::int then $7::jsonb else $6::jsonb end -> own.key
      ) as own
      from joining
    )
    update smiths set
      agent_id = $2, pin = null, rollout_slot = kept.slot, config = kept.own,
      revision = smiths.revision + 1, updated_at = now()
    from kept
    where smiths.project_id = $1 and smiths.id = kept.id
    returning smiths.id, kept.pinned,
      array(select jsonb_object_keys(kept.own)) as own, array(select jsonb_object_keys(kept.before)) as before`,
};
