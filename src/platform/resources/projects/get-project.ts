import { ApiError } from '../../../kernel/http/errors.ts';
import type { OrganizationRead } from '../../access/operation.ts';
import { systemDb } from '../../store/tenant-db.ts';
import { renderProject } from './render-project.ts';
import type { Project, ProjectPath } from './schema.ts';
import { findProject } from './store.ts';

export async function getProject({ db, caller, params }: OrganizationRead<{ params: ProjectPath }>): Promise<Project> {
  const row = await findProject(systemDb(db), caller.organizationId, params.pid);
  if (row === undefined) throw new ApiError('not_found');
  return renderProject(row);
}
