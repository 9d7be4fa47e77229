/** What other resources use of the settings: changes at the registry, and answers that are given once. */
export { answerOnce } from './answer-once.ts';
export { type RegistryChange, readAtRegistry, updateAtRegistry } from './update-at-registry.ts';
