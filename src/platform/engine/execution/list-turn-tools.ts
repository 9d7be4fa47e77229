/** The tools that a turn offers its model. */
import type { Tool, ToolSource } from '../../tools/tool.ts';
import type { ClientTool, TurnConfig, TurnKey } from '../turn.ts';

/** The caller's own and those of every source. A name that the caller took for the turn is the caller's. */
export async function listTurnTools(
  sources: readonly ToolSource[],
  { projectId, smithId }: Pick<TurnKey, 'projectId' | 'smithId'>,
  config: TurnConfig,
): Promise<readonly Tool[]> {
  const turn = {
    projectId,
    smithId,
    hostedTools: config.hosted_tools,
    fileSearch: config.file_search,
    memory: config.memory,
    skills: config.skills?.offered ?? [],
    ui: config.ui,
  };
  const served = await Promise.all(sources.map((source) => source.toolsFor(turn)));
  const { client } = config.settings.tools;
  const taken = new Set(client.map((tool) => tool.name));
  return [...client.map(describeClientTool), ...served.flat().filter((tool) => !taken.has(tool.name))];
}

/** A tool that the caller runs. */
function describeClientTool(tool: ClientTool): Tool {
  return {
    name: tool.name,
    description: tool.description ?? '',
    parameters: tool.parameters,
    ...(tool.strict === undefined ? {} : { strict: tool.strict }),
    requiresApproval: tool.requires_approval,
    repeatable: true,
  };
}
