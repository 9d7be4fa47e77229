/** What is left of a time with the simulated registry, and its end. */
export { endPlay, explainHolding, findPlay, type Play } from './end-play.ts';
