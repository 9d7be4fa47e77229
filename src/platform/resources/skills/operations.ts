import { openAiListOf } from '../../../kernel/http/openai-paging.ts';
import { project } from '../../access/operation.ts';
import type { FileDependencies } from '../files/index.ts';
import { bundleUploads } from './bundle/upload-bundle.ts';
import { createSkill } from './create-skill.ts';
import { createVersion } from './create-version.ts';
import { deleteSkill } from './delete-skill.ts';
import { deleteVersion } from './delete-version.ts';
import { getSkill } from './get-skill.ts';
import { getVersion } from './get-version.ts';
import { getVersionContent } from './get-version-content.ts';
import { listSkills } from './list-skills.ts';
import { listVersions } from './list-versions.ts';
import {
  Skill,
  SkillContentQuery,
  SkillFields,
  SkillListQuery,
  SkillPath,
  SkillUpdateIn,
  SkillVersion,
  SkillVersionFields,
  SkillVersionPath,
} from './schema.ts';
import { updateSkill } from './update-skill.ts';

const BUNDLE =
  'A bundle in the format of agentskills.io: the files as `files[]`, each with its path as filename, or one zip archive ' +
  'as `files`, as `file` or as the body itself. SKILL.md lies at the top, or in the one folder that everything lies in. At ' +
  'most 500 files, 50 MiB unpacked, and 10 MiB as an archive.';

export function skillOperations(deps: FileDependencies) {
  const upload = bundleUploads(deps);
  return [
    project.upload({
      id: 'skills.create',
      method: 'POST',
      path: '/v1/skills',
      posture: 'tenant',
      scope: 'skills:write',
      summary: 'Upload a skill',
      description: `${BUNDLE} The skill is named as SKILL.md says, and its first version is the default one.`,
      status: 201,
      fields: SkillFields,
      upload,
      reply: Skill,
      errors: ['invalid_bundle', 'skill_exists', 'storage_unavailable'],
      handler: (request) => createSkill(deps.config, request),
    }),
    project.read({
      id: 'skills.list',
      method: 'GET',
      path: '/v1/skills',
      posture: 'tenant',
      scope: 'skills:read',
      summary: 'List skills, newest first',
      query: SkillListQuery,
      reply: openAiListOf(Skill),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listSkills,
    }),
    project.read({
      id: 'skills.get',
      method: 'GET',
      path: '/v1/skills/{id}',
      posture: 'tenant',
      scope: 'skills:read',
      summary: 'Get a skill',
      params: SkillPath,
      reply: Skill,
      handler: getSkill,
    }),
    project.change({
      id: 'skills.update',
      method: 'POST',
      path: '/v1/skills/{id}',
      posture: 'tenant',
      scope: 'skills:write',
      summary: 'Move a skill’s default version',
      description: 'Turns from then on read it where their configuration names no version.',
      params: SkillPath,
      body: SkillUpdateIn,
      example: { default_version: 1 },
      // Twice alike is as once.
      idempotent: false,
      reply: Skill,
      handler: updateSkill,
    }),
    project.change({
      id: 'skills.delete',
      method: 'DELETE',
      path: '/v1/skills/{id}',
      posture: 'tenant',
      scope: 'skills:write',
      summary: 'Delete a skill with all its versions',
      description: 'Refused while an agent, a smith or an open run names it.',
      params: SkillPath,
      errors: ['skill_in_use'],
      handler: (request) => deleteSkill(deps, request),
    }),
    project.upload({
      id: 'skills.versions.create',
      method: 'POST',
      path: '/v1/skills/{id}/versions',
      posture: 'tenant',
      scope: 'skills:write',
      summary: 'Upload a version of a skill',
      description: `${BUNDLE} \`name\` stays that of the skill. Versions never change, and numbers are not given twice.`,
      status: 201,
      params: SkillPath,
      fields: SkillVersionFields,
      upload,
      reply: SkillVersion,
      errors: ['invalid_bundle', 'storage_unavailable'],
      handler: (request) => createVersion(deps.config, request),
    }),
    project.read({
      id: 'skills.versions.list',
      method: 'GET',
      path: '/v1/skills/{id}/versions',
      posture: 'tenant',
      scope: 'skills:read',
      summary: 'List a skill’s versions, newest first',
      params: SkillPath,
      query: SkillListQuery,
      reply: openAiListOf(SkillVersion),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listVersions,
    }),
    project.read({
      id: 'skills.versions.get',
      method: 'GET',
      path: '/v1/skills/{id}/versions/{v}',
      posture: 'tenant',
      scope: 'skills:read',
      summary: 'Get a version of a skill',
      params: SkillVersionPath,
      reply: SkillVersion,
      handler: getVersion,
    }),
    project.change({
      id: 'skills.versions.delete',
      method: 'DELETE',
      path: '/v1/skills/{id}/versions/{v}',
      posture: 'tenant',
      scope: 'skills:write',
      summary: 'Delete a version of a skill',
      description: 'Refused for the default version, and while an agent, a smith or an open run names the version.',
      params: SkillVersionPath,
      errors: ['skill_in_use'],
      handler: (request) => deleteVersion(deps, request),
    }),
    project.read({
      id: 'skills.versions.content',
      method: 'GET',
      path: '/v1/skills/{id}/versions/{v}/content',
      posture: 'tenant',
      scope: 'skills:read',
      summary: 'Download a version of a skill, or one of its files',
      description: 'Without `path` a zip archive of all files. `Range` and `If-None-Match` are honoured.',
      params: SkillVersionPath,
      query: SkillContentQuery,
      answers: 'bytes',
      errors: ['storage_unavailable'],
      handler: (request) => getVersionContent(deps.blobs, request),
    }),
  ];
}
