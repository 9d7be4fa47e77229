/** What turns may ask of skills. */
export { createTurnSkills } from './turn-skills.ts';
