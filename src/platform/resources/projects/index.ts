export { createOrganization, createProject } from './provision-project.ts';
