/** Skills: instructions and files for a task, in the format of agentskills.io, which turns read when they need them. */
import type { Static } from 'typebox';
import { openAiPageQuery } from '../../../kernel/http/openai-paging.ts';
import { component, nullable, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { MAX_VERSION, versionNumber } from '../../configuration/schema.ts';

const MAX_PATH_LENGTH = 512;

const TEXT_BY_NAME = { type: 'object', patternProperties: { '^.*$': { type: 'string' } } } as const;

export const SkillUpdateIn = component(
  'SkillUpdateIn',
  Type.Object({
    default_version: Type.Unsafe<number | string>({
      type: ['integer', 'string'],
      minimum: 1,
      maximum: MAX_VERSION,
      pattern: '^[1-9][0-9]{0,9}$',
      description: 'A version of the skill; a text of digits is taken too.',
    }),
  }),
);

export const Skill = component(
  'Skill',
  Type.Object({
    id: Type.String(),
    object: Type.Literal('skill'),
    name: Type.String(),
    description: Type.String({ description: 'Of its default version.' }),
    default_version: Type.Integer({ description: 'What is read where a configuration names no version.' }),
    latest_version: Type.Integer(),
    created_at: timestamp(),
    updated_at: timestamp(),
  }),
);

const SkillFile = component(
  'SkillFile',
  Type.Object({
    path: Type.String({ description: 'From the folder of SKILL.md.' }),
    size: Type.Integer({ description: 'Bytes.' }),
    sha256: Type.String(),
    media_type: Type.String(),
  }),
);

export const SkillVersion = component(
  'SkillVersion',
  Type.Object({
    id: Type.String({ description: 'Its place in lists.' }),
    object: Type.Literal('skill.version'),
    skill_id: Type.String(),
    version: Type.Integer(),
    name: Type.String(),
    description: Type.String(),
    license: nullable(Type.String()),
    compatibility: nullable(Type.String()),
    metadata: nullable(Type.Unsafe<Record<string, string>>(TEXT_BY_NAME)),
    references: Type.Array(Type.String(), { description: 'Paths below `references/`.' }),
    scripts: Type.Array(Type.String(), { description: 'Paths below `scripts/`.' }),
    assets: Type.Array(Type.String(), { description: 'Paths below `assets/`.' }),
    files: Type.Array(SkillFile),
    referenced_by: Type.Array(
      Type.Object({
        agent_id: Type.String(),
        version: nullable(Type.Integer(), { description: 'Null: the agent’s draft.' }),
      }),
      { description: 'Agents whose draft or versions name it, a hundred at most.' },
    ),
    bytes: Type.Integer({ description: 'Of all files.' }),
    created_at: timestamp(),
  }),
);

export const SkillFields = Type.Object({});
export const SkillVersionFields = Type.Object({
  default: Type.Optional(Type.Boolean({ description: 'Makes it the default version.' })),
});

export const SkillPath = Type.Object({ id: Type.String() });
export const SkillVersionPath = Type.Object({ id: Type.String(), v: versionNumber });
export const SkillListQuery = Type.Object(openAiPageQuery);
export const SkillContentQuery = Type.Object({
  path: Type.Optional(
    Type.String({ minLength: 1, maxLength: MAX_PATH_LENGTH, description: 'One file. Absent: all, as a zip archive.' }),
  ),
});

export type Skill = Static<typeof Skill>;
export type SkillVersion = Static<typeof SkillVersion>;
export type SkillUpdateIn = Static<typeof SkillUpdateIn>;
export type SkillVersionFields = Static<typeof SkillVersionFields>;
export type SkillPath = Static<typeof SkillPath>;
export type SkillVersionPath = Static<typeof SkillVersionPath>;
export type SkillListQuery = Static<typeof SkillListQuery>;
export type SkillContentQuery = Static<typeof SkillContentQuery>;
