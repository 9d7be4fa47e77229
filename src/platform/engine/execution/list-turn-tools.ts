/** The tools that a turn offers its model. */
import type { ListedTools } from '../../tools/request-servers.ts';
import type { OfferedTools, Tool, ToolSource } from '../../tools/tool.ts';
import type { ClientTool, TurnConfig, TurnKey } from '../turn.ts';

/** The caller's own and those of every source; `lists`: what the servers that the request brought have listed, by label. A name that the caller took for the turn is the caller's. */
export async function listTurnTools(
  sources: readonly ToolSource[],
  { projectId, smithId, runId }: Pick<TurnKey, 'projectId' | 'smithId' | 'runId'>,
  config: TurnConfig,
  lists: ReadonlyMap<string, ListedTools>,
): Promise<Required<OfferedTools>> {
  const turn = {
    projectId,
    smithId,
    runId,
    hostedTools: config.hosted_tools,
    fileSearch: config.file_search,
    memory: config.memory,
    skills: config.skills?.offered ?? [],
    ui: config.ui,
    mcp: config.mcp ?? null,
    requestServers: (config.settings.tools.mcp ?? []).flatMap((server) => {
      const list = lists.get(server.label);
      return list === undefined ? [] : [{ server, list }];
    }),
  };
  const offered = await Promise.all(sources.map((source) => source.toolsFor(turn)));
  const served = offered.flatMap(({ tools }) => tools);
  const { client } = config.settings.tools;
  const taken = new Set(client.map((tool) => tool.name));
  return {
    tools: [...client.map(describeClientTool), ...served.filter((tool) => !taken.has(tool.name))],
    warnings: offered.flatMap(({ warnings = [] }) => warnings),
  };
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
