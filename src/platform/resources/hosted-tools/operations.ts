import { project } from '../../access/operation.ts';
import type { HostedTools } from '../../tools/hosted-tools.ts';
import { listHostedTools } from './list-hosted-tools.ts';
import { HostedToolList } from './schema.ts';

export function hostedToolOperations({ hostedTools }: { readonly hostedTools: HostedTools }) {
  return [
    project.read({
      id: 'tenant.hosted_tools.list',
      method: 'GET',
      path: '/v1/tenant/hosted_tools',
      posture: 'tenant',
      summary: 'List the hosted tools',
      description:
        'Tools that the server itself runs, for `enabled_hosted_tools` of agents and smiths. One that is not available may ' +
        'be named there too: it is not offered to models, and runs that name it say so in their warnings.',
      reply: HostedToolList,
      handler: listHostedTools(hostedTools),
    }),
  ];
}
