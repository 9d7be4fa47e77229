/** What other resources use of the settings: changes at the registry. */
export { readAtRegistry, updateAtRegistry } from './update-at-registry.ts';
