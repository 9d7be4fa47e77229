import { pageOf, pageQuery } from '../../../kernel/http/paging.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { project } from '../../access/operation.ts';
import { attachSmiths } from './attach-smiths.ts';
import { createAgent } from './create-agent.ts';
import { deleteAgent } from './delete-agent.ts';
import { getAgent } from './get-agent.ts';
import { importAgent } from './import-agent.ts';
import { listAgents } from './list-agents.ts';
import { listVersions } from './list-versions.ts';
import { publishVersion } from './publish-version.ts';
import { rollOutVersion } from './roll-out-version.ts';
import {
  Agent,
  AgentIn,
  AgentPatch,
  AgentPath,
  AgentVersion,
  AttachIn,
  AttachOut,
  ImportIn,
  PublishIn,
  RolloutIn,
} from './schema.ts';
import { updateAgent } from './update-agent.ts';

export function agentOperations() {
  return [
    project.change({
      id: 'agents.create',
      method: 'POST',
      path: '/v1/agents',
      posture: 'tenant',
      summary: 'Create an agent',
      description: 'Makes a draft. Smiths can follow the agent once it has been published.',
      status: 201,
      body: AgentIn,
      example: { name: 'Helper', model: 'builtin/demo', instructions: 'Be brief.' },
      reply: Agent,
      errors: [
        'not_found',
        'agent_exists',
        'not_found',
        'invalid_slug',
        'invalid_name',
        'name_required',
        'invalid_variables',
        'unknown_provider',
      ],
      handler: createAgent,
    }),
    project.read({
      id: 'agents.list',
      method: 'GET',
      path: '/v1/agents',
      posture: 'tenant',
      summary: 'List agents, newest first',
      query: Type.Object({
        ...pageQuery,
        slug: Type.Optional(Type.String({ maxLength: 512, description: 'Only the agent with this slug.' })),
      }),
      reply: pageOf(Agent),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listAgents,
    }),
    project.read({
      id: 'agents.get',
      method: 'GET',
      path: '/v1/agents/{aid}',
      posture: 'tenant',
      summary: 'Get an agent',
      params: AgentPath,
      reply: Agent,
      handler: getAgent,
    }),
    project.change({
      id: 'agents.update',
      method: 'PATCH',
      path: '/v1/agents/{aid}',
      posture: 'tenant',
      summary: 'Change an agent’s draft',
      description: 'Changes the members that are given; null clears one. Smiths run what is published, not the draft.',
      params: AgentPath,
      body: AgentPatch,
      example: { instructions: 'Be brief and kind.' },
      reply: Agent,
      errors: ['empty_patch', 'invalid_name', 'name_required', 'invalid_variables', 'unknown_provider'],
      handler: updateAgent,
    }),
    project.change({
      id: 'agents.delete',
      method: 'DELETE',
      path: '/v1/agents/{aid}',
      posture: 'tenant',
      summary: 'Archive an agent',
      description: 'Refused while live smiths follow it, and for the default agent. Its slug is free again.',
      params: AgentPath,
      errors: ['agent_in_use', 'default_agent'],
      handler: deleteAgent,
    }),
    project.change({
      id: 'agents.versions.publish',
      method: 'POST',
      path: '/v1/agents/{aid}/versions',
      posture: 'tenant',
      summary: 'Publish the draft as a version',
      description: 'The first version is active at once. A later one waits for `POST /v1/agents/{aid}/rollout`.',
      status: 201,
      params: AgentPath,
      body: PublishIn,
      example: { note: 'first' },
      reply: AgentVersion,
      errors: ['empty_config'],
      handler: publishVersion,
    }),
    project.read({
      id: 'agents.versions.list',
      method: 'GET',
      path: '/v1/agents/{aid}/versions',
      posture: 'tenant',
      summary: 'List an agent’s versions, newest first',
      params: AgentPath,
      query: Type.Object(pageQuery),
      reply: pageOf(AgentVersion),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listVersions,
    }),
    project.change({
      id: 'agents.rollout',
      method: 'POST',
      path: '/v1/agents/{aid}/rollout',
      posture: 'tenant',
      summary: 'Move smiths to a version',
      description:
        'With 100 percent the version becomes the active one. With less, exactly that share of the agent’s smiths runs ' +
        'it from their next turn on; a share that grows keeps the smiths it had. Rolling out the active version calls a ' +
        'rollout under way off. A running turn keeps the version that it started with.',
      params: AgentPath,
      body: RolloutIn,
      example: { version: 1 },
      reply: Agent,
      errors: ['invalid_percent', 'agent_unpublished'],
      handler: rollOutVersion,
    }),
    project.change({
      id: 'agents.attach',
      method: 'POST',
      path: '/v1/agents/{aid}/attach',
      posture: 'tenant',
      summary: 'Attach smiths to an agent',
      description:
        'Either the smiths that are named, whatever they follow now, or all that follow no agent. Settings of a smith ' +
        'that equal the agent’s are dropped; the others stay and override it. All are attached or none.',
      params: AgentPath,
      body: AttachIn,
      example: { smith_ids: ['smt_01J8Z3M6QK4T9W2X5Y7B8C9D0E'] },
      reply: AttachOut,
      errors: ['agent_unpublished', 'smith_exists'],
      handler: attachSmiths,
    }),
    project.change({
      id: 'agents.import',
      method: 'POST',
      path: '/v1/agents/import',
      posture: 'tenant',
      summary: 'Make an agent of a smith’s configuration',
      description: 'The new agent’s draft is what the smith runs with now. The smith itself stays as it is.',
      status: 201,
      body: ImportIn,
      example: { from_smith: 'smt_01J8Z3M6QK4T9W2X5Y7B8C9D0E', name: 'Made of a smith' },
      reply: Agent,
      errors: ['not_found', 'empty_config', 'invalid_name', 'name_required'],
      handler: importAgent,
    }),
  ];
}
