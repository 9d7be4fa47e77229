import { pageOf } from '../../../kernel/http/paging.ts';
import { project } from '../../access/operation.ts';
import { createDeployment } from './create-deployment.ts';
import { deleteDeployment } from './delete-deployment.ts';
import type { DeploymentDependencies } from './dependencies.ts';
import { getDeployment } from './get-deployment.ts';
import { listDeployments } from './list-deployments.ts';
import { Deployment, DeploymentIn, DeploymentPatch, DeploymentPath, DeploymentQuery } from './schema.ts';
import { updateDeployment } from './update-deployment.ts';

export function deploymentOperations(deps: DeploymentDependencies) {
  return [
    project.read({
      id: 'deployments.list',
      method: 'GET',
      path: '/v1/deployments',
      posture: 'any',
      scope: 'deployments:read',
      summary: 'List deployments, newest first',
      description: 'A smith token sees those of its own smith.',
      query: DeploymentQuery,
      reply: pageOf(Deployment),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listDeployments(deps),
    }),
    project.change({
      id: 'deployments.create',
      method: 'POST',
      path: '/v1/deployments',
      posture: 'any',
      scope: 'deployments:write',
      summary: 'Put a smith, or an agent, where people are',
      description:
        'Hosted pages (`web`) can be made today: `page_url` is where people write. A smith’s page is one smith for all of ' +
        'them, each with threads of its own; an agent’s page has a smith for each, with the `external_id` ' +
        '`web:<deployment>:<visitor_id>`. A smith token deploys its own smith alone.',
      status: 201,
      body: DeploymentIn,
      example: {
        target: { type: 'agent', id: 'agt_01J8Z3M6QK4T9W2X5Y7B8C9D0E' },
        kind: 'web',
        provider_metadata: { title: 'Help', greeting: 'How can I help you?' },
      },
      reply: Deployment,
      errors: [
        'not_found',
        'invalid_kind',
        'forbidden_target',
        'target_not_supported',
        'agent_unpublished',
        'address_required',
        'invalid_address',
        'web_no_setup',
        'mcp_no_setup',
        'setup_unsupported',
        'agent_target_no_setup',
        'invalid_setup',
        'display_name_required',
        'telegram_bot_unconfigured',
        'slack_app_unconfigured',
        'slack_factory_unconfigured',
        'whatsapp_unconfigured',
        'email_unconfigured',
        'empty_config',
        'unsupported',
      ],
      handler: createDeployment(deps),
    }),
    project.read({
      id: 'deployments.get',
      method: 'GET',
      path: '/v1/deployments/{depid}',
      posture: 'any',
      scope: 'deployments:read',
      summary: 'Get a deployment',
      params: DeploymentPath,
      reply: Deployment,
      handler: getDeployment(deps),
    }),
    project.change({
      id: 'deployments.update',
      method: 'PATCH',
      path: '/v1/deployments/{depid}',
      posture: 'any',
      scope: 'deployments:write',
      summary: 'Rename a deployment',
      description: 'The title of a page. What else a page has is set when it is made.',
      params: DeploymentPath,
      body: DeploymentPatch,
      example: { display_name: 'Support' },
      reply: Deployment,
      errors: ['empty_patch', 'nothing_to_update', 'rename_unsupported'],
      handler: updateDeployment(deps),
    }),
    project.change({
      id: 'deployments.delete',
      method: 'DELETE',
      path: '/v1/deployments/{depid}',
      posture: 'any',
      scope: 'deployments:write',
      summary: 'Delete a deployment',
      description: 'Its page is gone at once. Smiths and what was said stay.',
      params: DeploymentPath,
      handler: deleteDeployment,
    }),
  ];
}
