/** `read_skill`: what the turn's skills say, read when the model needs it. */
import type { JsonObject } from '../tables.ts';
import type { OfferedSkill, Tool, ToolOutcome, ToolSource } from './tool.ts';

export const READ_SKILL = 'read_skill';

/** What a model is given of one file. */
export const MAX_SKILL_TEXT_BYTES = 65_536;
const MANIFEST = 'SKILL.md';

/** A file of a skill, as far as it is given. */
export interface SkillText {
  readonly text: string;
  readonly truncated: boolean;
}

export interface SkillReader {
  /**
   * The file's text, up to MAX_SKILL_TEXT_BYTES. `gone`: the version is not there any more; `missing`: it has no such file;
   * `binary`: it is no text.
   */
  read(projectId: string, skill: OfferedSkill, path: string): Promise<SkillText | 'gone' | 'missing' | 'binary'>;
  /** The paths of its files. */
  list(projectId: string, skill: OfferedSkill): Promise<readonly string[]>;
}

export function createSkillTools(reader: SkillReader): ToolSource {
  return {
    toolsFor: ({ skills }) => ({ tools: skills.length === 0 ? [] : [readSkill(reader, skills)] }),
  };
}

function readSkill(reader: SkillReader, skills: readonly OfferedSkill[]): Tool {
  return {
    name: READ_SKILL,
    description:
      'Reads a skill: its instructions and the list of its files, or, with `path`, one of the files that the instructions name.',
    parameters: {
      type: 'object',
      properties: {
        skill: { type: 'string', description: `One of: ${skills.map(({ name }) => name).join(', ')}` },
        path: { type: 'string', description: `A file of the skill. ${MANIFEST} when left out.` },
      },
      required: ['skill'],
      additionalProperties: false,
    },
    requiresApproval: false,
    repeatable: true,
    execute: async ({ args, projectId }) => {
      const skill = skills.find(({ name }) => name === args.skill);
      if (skill === undefined)
        return { error: `There is no such skill. There are: ${skills.map(({ name }) => name).join(', ')}.` };
      const path = typeof args.path === 'string' && args.path !== '' ? args.path : MANIFEST;
      const found = await reader.read(projectId, skill, path);
      if (typeof found === 'string') return explain(found, path);
      const files = path === MANIFEST ? { files: await reader.list(projectId, skill) } : {};
      return describe(
        { skill: skill.name, version: skill.version, path, ...files, truncated: found.truncated },
        found.text,
      );
    },
  };
}

function explain(problem: 'gone' | 'missing' | 'binary', path: string): ToolOutcome {
  switch (problem) {
    case 'gone':
      return { error: 'The skill has been deleted since the turn began.' };
    case 'missing':
      return { error: `The skill has no file ${path}. Read the skill without \`path\` for the list of its files.` };
    case 'binary':
      return { error: `${path} is no text.` };
  }
}

/** The model reads the text as it is; runs show it as a member. */
function describe(facts: JsonObject, text: string): ToolOutcome {
  const files = Array.isArray(facts.files) && facts.files.length > 1 ? `\n\nFiles: ${facts.files.join(', ')}` : '';
  const cut =
    facts.truncated === true ? `\n\n[Cut off here: only the first ${MAX_SKILL_TEXT_BYTES} bytes are given.]` : '';
  return { output: { ...facts, content: text }, forModel: `${text}${cut}${files}` };
}
