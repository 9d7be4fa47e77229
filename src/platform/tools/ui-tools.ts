/** UI resources as tools: the model asks for one to be shown, with arguments, to whoever follows the turn. */
import type { UiResource } from '../tables.ts';
import { FILE_SEARCH } from './file-search.ts';
import { hostedToolNames } from './hosted-tools.ts';
import { MEMORY_TOOLS } from './memory-tools.ts';
import { READ_SKILL } from './read-skill.ts';
import type { OfferedUi, Tool, ToolSource, UiConfig } from './tool.ts';

/** Whether the server has a tool of this name, which a turn may offer beside it. */
export function isReservedToolName(name: string): boolean {
  return name === FILE_SEARCH || name === READ_SKILL || MEMORY_TOOLS.has(name) || hostedToolNames.includes(name);
}

/** What a turn offers its model of these resources; undefined: nothing. */
export function offerUi(agentId: string, resources: readonly UiResource[]): UiConfig | undefined {
  const offered = resources.flatMap(({ name, tool }): OfferedUi[] => {
    if (tool === null || !tool.visibility.includes('model')) return [];
    const { description, input_schema, instruction, mutating } = tool;
    return [{ name, description, input_schema, instruction, mutating }];
  });
  return offered.length === 0 ? undefined : { agent_id: agentId, offered };
}

export function createUiTools(): ToolSource {
  return {
    toolsFor: ({ ui }) => ({ tools: ui?.offered.map((one) => showUi(ui.agent_id, one)) ?? [] }),
  };
}

function showUi(agentId: string, { name, description, input_schema, instruction, mutating }: OfferedUi): Tool {
  return {
    name,
    description,
    parameters: input_schema,
    requiresApproval: false,
    repeatable: !mutating,
    execute: async ({ args }) => ({
      output: { instruction, arguments: args, resource_uri: `ui://${agentId}/${name}` },
    }),
  };
}
