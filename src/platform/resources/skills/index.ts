/** What turns may ask of skills. */
export { readSkillFiles } from './read-skill-files.ts';
export { createTurnSkills } from './turn-skills.ts';
