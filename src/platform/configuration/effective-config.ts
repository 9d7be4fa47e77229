/**
 * What a smith runs with. Three layers, the later over the earlier: the defaults, the agent version that it follows,
 * what it set for itself. Only keys that are really set count; null means unset.
 */
import type { AgentDraft, SmithConfig } from '../tables.ts';

export const CONFIG_KEYS = [
  'model',
  'instructions',
  'enabled_hosted_tools',
  'vector_store_ids',
  'mcp_servers',
  'skills',
  'auto_memory',
  'memory_consolidation',
] as const satisfies readonly (keyof SmithConfig)[];

export type ConfigKey = (typeof CONFIG_KEYS)[number];

const DEFAULT_MODEL = 'builtin/demo';

export const DEFAULT_CONFIG: SmithConfig = {
  model: DEFAULT_MODEL,
  instructions: '',
  enabled_hosted_tools: [],
  vector_store_ids: [],
  mcp_servers: null,
  skills: [],
  auto_memory: false,
  memory_consolidation: false,
};

/** The configuration that an agent's version gives a smith which sets nothing itself. */
export function inheritedConfig(snapshot: AgentDraft): SmithConfig {
  return layer(DEFAULT_CONFIG, snapshot);
}

export function effectiveConfig(own: Partial<SmithConfig>, snapshot: AgentDraft | null): SmithConfig {
  return layer(snapshot === null ? DEFAULT_CONFIG : inheritedConfig(snapshot), own);
}

/** The keys among CONFIG_KEYS that `settings` really sets. */
export function setKeys(settings: { readonly [key in ConfigKey]?: unknown }): ConfigKey[] {
  return CONFIG_KEYS.filter((key) => settings[key] !== undefined && settings[key] !== null);
}

/** A copy of the settings with only the set keys. */
export function pickSet(settings: { readonly [K in ConfigKey]?: SmithConfig[K] | null }): Partial<SmithConfig> {
  return Object.fromEntries(setKeys(settings).map((key) => [key, settings[key]])) as Partial<SmithConfig>;
}

function layer(base: SmithConfig, over: { readonly [K in ConfigKey]?: SmithConfig[K] | null }): SmithConfig {
  return { ...base, ...pickSet(over) };
}
