import type { HostedTools } from '../../tools/hosted-tools.ts';
import type { HostedToolList } from './schema.ts';

export function listHostedTools(hostedTools: Pick<HostedTools, 'list'>) {
  return async (): Promise<HostedToolList> => ({
    data: (await hostedTools.list()).map(({ tool, unavailableReason }) => ({
      name: tool.name,
      description: tool.description,
      parameters: tool.parameters,
      requires_approval: tool.requiresApproval,
      available: unavailableReason === null,
      unavailable_reason: unavailableReason,
    })),
  });
}
