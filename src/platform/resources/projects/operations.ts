import { pageOf, pageQuery } from '../../../kernel/http/paging.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { TokenIssuer } from '../../access/issue-token.ts';
import { organization } from '../../access/operation.ts';
import { createProject } from './create-project.ts';
import { createProjectToken } from './create-project-token.ts';
import { deleteProject } from './delete-project.ts';
import { getProject } from './get-project.ts';
import { listProjects } from './list-projects.ts';
import { Project, ProjectIn, ProjectPath, ProjectTokenIn, ProjectTokenOut } from './schema.ts';

export function projectOperations(deps: {
  readonly issuer: Pick<TokenIssuer, 'issueProjectToken'>;
  readonly jobs: Pick<Jobs, 'enqueue'>;
}) {
  return [
    organization.change({
      id: 'organization.projects.create',
      method: 'POST',
      path: '/v1/organization/projects',
      posture: 'org',
      summary: 'Create a project',
      description:
        'A name that a live project of the organization has answers 200 with that project, unchanged; a new one answers 201.',
      status: 201,
      alsoStatus: [200],
      body: ProjectIn,
      example: { name: 'Production', metadata: { tier: 'gold' } },
      reply: Project,
      errors: ['name_required', 'invalid_name'],
      handler: createProject,
    }),
    organization.read({
      id: 'organization.projects.list',
      method: 'GET',
      path: '/v1/organization/projects',
      posture: 'org',
      summary: 'List live projects, newest first',
      query: Type.Object(pageQuery),
      reply: pageOf(Project),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listProjects,
    }),
    organization.read({
      id: 'organization.projects.get',
      method: 'GET',
      path: '/v1/organization/projects/{pid}',
      posture: 'org',
      summary: 'Get a project',
      params: ProjectPath,
      reply: Project,
      handler: getProject,
    }),
    organization.change({
      id: 'organization.projects.delete',
      method: 'DELETE',
      path: '/v1/organization/projects/{pid}',
      posture: 'org',
      summary: 'Archive a project',
      description:
        'Every token of the project stops working at once, its webhooks get nothing more, its schedules and channels begin no ' +
        'turns, turns in flight are cancelled, the accounts connected to its smiths are forgotten, and its name becomes free.',
      params: ProjectPath,
      handler: deleteProject(deps),
    }),
    organization.change({
      id: 'organization.projects.tokens.create',
      method: 'POST',
      path: '/v1/organization/projects/{pid}/tokens',
      posture: 'org',
      summary: 'Mint a tenant-admin token of a project',
      description: 'The token carries `tenant:*`. Its text is in this answer and nowhere else.',
      status: 201,
      params: ProjectPath,
      body: ProjectTokenIn,
      example: { name: 'server' },
      reply: ProjectTokenOut,
      errors: ['invalid_name', 'minting_unavailable'],
      handler: createProjectToken(deps),
    }),
  ];
}
