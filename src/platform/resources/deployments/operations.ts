import { pageOf } from '../../../kernel/http/paging.ts';
import { mcpPath } from '../../access/mcp-address.ts';
import { project } from '../../access/operation.ts';
import { callMcp } from './call-mcp.ts';
import { checkNumber } from './connect-number.ts';
import { prepareSlackApp, type SlackAppDependencies } from './connect-slack-app.ts';
import { createDeployment } from './create-deployment.ts';
import { deleteDeployment } from './delete-deployment.ts';
import { getDeployment } from './get-deployment.ts';
import { listDeployments } from './list-deployments.ts';
import {
  CreatedDeployment,
  Deployment,
  DeploymentIn,
  DeploymentPatch,
  DeploymentPath,
  DeploymentQuery,
  McpMessage,
} from './schema.ts';
import { updateDeployment } from './update-deployment.ts';
import { renameAtSlack } from './update-slack-app.ts';

/** A message to a smith has 100,000 characters at most. */
const MAX_MCP_BYTES = 1024 * 1024;

export function deploymentOperations(deps: SlackAppDependencies) {
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
        'A hosted page (`web`) has a `page_url`, where people write. A smith’s page is one smith for all of them, each with ' +
        'threads of its own; an agent’s page has a smith for each, with the `external_id` `web:<deployment>:<visitor_id>`. ' +
        '`mcp_url` is what MCP clients are given. A messaging channel needs the project’s account of its kind; `sms` and `voice` have their own: ' +
        '`provider` is `twilio`, and the number is looked up there. A smith’s is for one person: `address`, or `setup` ' +
        'and whoever writes the `start_token`; of `slack`, `setup` makes an app of the smith’s own, which is there for whoever ' +
        'installs it by `install_url`, or for the owner alone. An agent’s is for all others who write, each with a smith of the ' +
        '`external_id` `<kind>:<address>`. A smith token deploys its own smith alone.',
      status: 201,
      body: DeploymentIn,
      example: {
        target: { type: 'agent', id: 'agt_01J8Z3M6QK4T9W2X5Y7B8C9D0E' },
        kind: 'web',
        provider_metadata: { title: 'Help', greeting: 'How can I help you?' },
      },
      reply: CreatedDeployment,
      errors: [
        'not_found',
        'invalid_kind',
        'forbidden_target',
        'target_not_supported',
        'agent_unpublished',
        'address_required',
        'address_in_use',
        'handle_unavailable',
        'catch_all_exists',
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
        'slack_app_cap_reached',
        'slack_api_error',
        'whatsapp_unconfigured',
        'email_unconfigured',
        'empty_config',
        'unsupported',
        'invalid_url',
        'connect_failed',
      ],
      precheck: checkNumber(deps),
      prepare: prepareSlackApp(deps),
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
      description:
        'The title of a page; the name of a Slack app of the smith’s own, at Slack too; what a mailbox writes as, and whom alone a smith’s obeys (`owner_email`). What else they have is set when ' +
        'they are made.',
      params: DeploymentPath,
      body: DeploymentPatch,
      example: { display_name: 'Support' },
      reply: Deployment,
      errors: [
        'empty_patch',
        'nothing_to_update',
        'rename_unsupported',
        'slack_factory_unconfigured',
        'slack_api_error',
      ],
      precheck: renameAtSlack(deps),
      handler: updateDeployment(deps),
    }),
    project.change({
      id: 'deployments.delete',
      method: 'DELETE',
      path: '/v1/deployments/{depid}',
      posture: 'any',
      scope: 'deployments:write',
      summary: 'Delete a deployment',
      description:
        'Its page is gone at once, its address is free, and a Slack app of the smith’s own is deleted at Slack. Smiths and ' +
        'what was said stay.',
      params: DeploymentPath,
      handler: deleteDeployment(deps),
    }),
    project.raw({
      id: 'deployments.mcp',
      method: 'POST',
      path: '/v1/deployments/{depid}/mcp',
      posture: 'any',
      scope: 'runs:write',
      summary: 'Speak to the MCP server of a deployment',
      description:
        'JSON-RPC over Streamable HTTP, in the protocol’s revisions 2025-11-25 and 2026-07-28: one message a request, with ' +
        'the tools `ask` and `get_reply`, and the UI resources of the smith’s version. A smith token is its smith; a ' +
        'tenant-admin token names one with `IC-Smith-Id`, and may leave it out where the deployment is a smith’s. Answers ' +
        'are JSON or a stream of events, as the protocol has it. What is refused before the message is read has the usual envelope.',
      maxBodyBytes: MAX_MCP_BYTES,
      params: DeploymentPath,
      // A notification has no answer.
      alsoStatus: [202],
      reply: McpMessage,
      challenge: ({ depid = '' }) => {
        const metadata = `${deps.publicUrl}/.well-known/oauth-protected-resource${mcpPath(encodeURIComponent(depid))}`;
        return `resource_metadata="${metadata}", scope="runs:write"`;
      },
      isOnlyMethod: true,
      errors: [
        'not_found',
        'invalid_request',
        'invalid_state',
        'payload_too_large',
        'smith_required',
        'smith_unresolved',
        'smith_mismatch',
        'forbidden_target',
        'session_not_found',
        'session_mismatch',
      ],
      handler: callMcp(deps),
    }),
  ];
}
