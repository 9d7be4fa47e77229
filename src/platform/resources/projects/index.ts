export { projectOperations } from './operations.ts';
export { createOrganization, createProject } from './provision-project.ts';
