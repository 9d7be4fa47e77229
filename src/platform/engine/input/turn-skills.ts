import type { SkillRef } from '../../tables.ts';
import type { SkillsConfig } from '../../tools/tool.ts';

/** The skills of a project as turns use them. */
export interface TurnSkills {
  /** Chooses the versions that a turn has to its end: those that are named, else the default ones of now. */
  fix(projectId: string, named: readonly SkillRef[]): Promise<SkillsConfig>;
}
