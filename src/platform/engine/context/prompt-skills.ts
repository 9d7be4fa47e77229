import { READ_SKILL } from '../../tools/read-skill.ts';
import type { TurnConfig } from '../turn.ts';

/** The turn's skills as a system message, which say when each is to be read; '' where it has none. */
export function promptSkills({ skills }: TurnConfig): string {
  if (skills === undefined || skills.offered.length === 0) return '';
  const lines = skills.offered.map(({ name, description }) => `- ${name}: ${description.replaceAll(/\s+/g, ' ')}`);
  return [
    `You have skills: instructions for certain tasks. Read one with \`${READ_SKILL}\` before you do what it is for.`,
    ...lines,
  ].join('\n');
}
