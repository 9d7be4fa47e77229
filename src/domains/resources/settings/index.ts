/** What other resources use of the settings: changes at the registry. */
export { type RegistryChange, readAtRegistry, updateAtRegistry } from './update-at-registry.ts';
