export { createOrganization, createProject, updateOrganization } from './provision-project.ts';
