import type { ProjectChange } from '../../access/operation.ts';
import { applySettings, EMPTY_DRAFT } from './draft.ts';
import { makeAgent } from './make-agent.ts';
import type { Agent, AgentIn } from './schema.ts';

export async function createAgent({ tx, caller, body }: ProjectChange<{ body: AgentIn }>): Promise<Agent> {
  const { name, slug = null, ...settings } = body;
  return makeAgent(tx, caller, { name, slug, draft: applySettings(EMPTY_DRAFT, settings) }, null);
}
