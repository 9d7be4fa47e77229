/** Everything of a smith that can be changed and, from a revision, restored. */
import { isDeepStrictEqual } from 'node:util';
import { CONFIG_KEYS, pickSet } from '../configuration/effective-config.ts';
import type { JsonObject, SmithConfig } from '../tables.ts';

export interface SmithState {
  display_name: string | null;
  locale: string | null;
  timezone: string | null;
  customer_id: string | null;
  metadata: JsonObject;
  agent_id: string | null;
  pin: number | null;
  /** Only the keys that the smith sets itself. */
  config: Partial<SmithConfig>;
}

type Nullable<T> = { readonly [K in keyof T]?: T[K] | null };

/** The settings that a change names: what is absent stays, null clears. */
export type SmithPatch = Nullable<Omit<SmithState, 'config'>> & Nullable<SmithConfig>;

export interface StateChange {
  /** Fields that have a new value. */
  readonly changed: string[];
  /** Fields that have none any more. */
  readonly cleared: string[];
}

/** The state after the patch. A move to another agent clears the pin, for its number means another version there. */
export function applyPatch(state: SmithState, patch: SmithPatch): SmithState {
  const agentId = patch.agent_id === undefined ? state.agent_id : patch.agent_id;
  const pin = agentId === state.agent_id ? state.pin : null;
  return {
    display_name: patch.display_name === undefined ? state.display_name : patch.display_name,
    locale: patch.locale === undefined ? state.locale : patch.locale,
    timezone: patch.timezone === undefined ? state.timezone : patch.timezone,
    customer_id: patch.customer_id === undefined ? state.customer_id : patch.customer_id,
    metadata: patch.metadata === undefined ? state.metadata : (patch.metadata ?? {}),
    agent_id: agentId,
    pin: patch.pin === undefined ? pin : patch.pin,
    config: pickSet({ ...state.config, ...patch }),
  };
}

/** What differs between two states, in the names of SmithPatch. */
export function compareStates(before: SmithState, after: SmithState): StateChange {
  const old = flatten(before);
  const now = flatten(after);
  const differing = fields.filter((field) => !isDeepStrictEqual(old[field], now[field]));
  return {
    changed: differing.filter((field) => now[field] !== null),
    cleared: differing.filter((field) => now[field] === null),
  };
}

const fields = [
  'display_name',
  'locale',
  'timezone',
  'customer_id',
  'metadata',
  'agent_id',
  'pin',
  ...CONFIG_KEYS,
] as const;

/** Null for what is not set. */
function flatten({ config, metadata, ...rest }: SmithState): Record<(typeof fields)[number], unknown> {
  return {
    ...rest,
    metadata: Object.keys(metadata).length === 0 ? null : metadata,
    model: config.model ?? null,
    instructions: config.instructions ?? null,
    enabled_hosted_tools: config.enabled_hosted_tools ?? null,
    vector_store_ids: config.vector_store_ids ?? null,
    mcp_servers: config.mcp_servers ?? null,
    skills: config.skills ?? null,
    auto_memory: config.auto_memory ?? null,
    memory_consolidation: config.memory_consolidation ?? null,
  };
}
