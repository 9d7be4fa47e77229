import { HttpReply } from '../../../kernel/http/operation.ts';
import type { OrganizationChange } from '../../access/operation.ts';
import { createProject as provision } from './provision-project.ts';
import { renderProject } from './render-project.ts';
import type { Project, ProjectIn } from './schema.ts';

export async function createProject({
  tx,
  caller,
  body,
}: OrganizationChange<{ body: ProjectIn }>): Promise<HttpReply<Project>> {
  const { project, created } = await provision(tx, {
    organizationId: caller.organizationId,
    name: body.name,
    metadata: body.metadata ?? {},
  });
  return new HttpReply(created ? 201 : 200, renderProject(project));
}
