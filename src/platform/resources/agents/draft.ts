/** An agent's working copy. */
import { isDeepStrictEqual } from 'node:util';
import { checkConfig } from '../../configuration/check-config.ts';
import type { AgentDraft } from '../../tables.ts';
import type { AgentPatch } from './schema.ts';

export const EMPTY_DRAFT: AgentDraft = {
  instructions: null,
  model: null,
  enabled_hosted_tools: [],
  vector_store_ids: [],
  mcp_servers: null,
  skills: [],
  auto_memory: null,
  memory_consolidation: null,
  variables: [],
  ui_resources: [],
};

export type DraftSettings = Omit<AgentPatch, 'name'>;

/** The draft with the given settings; null clears one. Throws what `checkConfig` throws. */
export function applySettings(draft: AgentDraft, settings: DraftSettings): AgentDraft {
  checkConfig(settings);
  const { variables, ...rest } = settings;
  const given: { readonly [K in keyof AgentDraft]?: AgentDraft[K] | null } = {
    ...rest,
    ...(variables === undefined ? {} : { variables: completeVariables(variables ?? []) }),
  };
  const set = <K extends keyof AgentDraft>(key: K): AgentDraft[K] => {
    const value = given[key];
    return value === undefined ? draft[key] : (value ?? EMPTY_DRAFT[key]);
  };
  return {
    instructions: set('instructions'),
    model: set('model'),
    enabled_hosted_tools: set('enabled_hosted_tools'),
    vector_store_ids: set('vector_store_ids'),
    mcp_servers: set('mcp_servers'),
    skills: set('skills'),
    auto_memory: set('auto_memory'),
    memory_consolidation: set('memory_consolidation'),
    variables: set('variables'),
    ui_resources: draft.ui_resources,
  };
}

function completeVariables(variables: NonNullable<DraftSettings['variables']>): AgentDraft['variables'] {
  return variables.map((variable) => ({
    name: variable.name,
    default: variable.default ?? null,
    description: variable.description ?? null,
    required: variable.required ?? false,
  }));
}

/** The settings that differ. */
export function compareDrafts(before: AgentDraft, after: AgentDraft): (keyof AgentDraft)[] {
  return draftKeys.filter((key) => !isDeepStrictEqual(before[key], after[key]));
}

const draftKeys = Object.keys(EMPTY_DRAFT) as (keyof AgentDraft)[];

export function setsNothing(draft: AgentDraft): boolean {
  return compareDrafts(EMPTY_DRAFT, draft).length === 0;
}
