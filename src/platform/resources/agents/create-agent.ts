import { requireConfigReferences } from '../../access/config-references.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { applySettings, EMPTY_DRAFT } from './draft.ts';
import { makeAgent } from './make-agent.ts';
import type { Agent, AgentIn } from './schema.ts';

export async function createAgent({ tx, caller, body }: ProjectChange<{ body: AgentIn }>): Promise<Agent> {
  const { name, slug = null, ...settings } = body;
  const draft = applySettings(EMPTY_DRAFT, settings);
  await requireConfigReferences(tx, caller, draft, EMPTY_DRAFT);
  return makeAgent(tx, caller, { name, slug, draft }, null);
}
