/** What other resources use of the settings: changes at the registry. */
export type { SettingsDependencies } from './dependencies.ts';
export { readAtRegistry, updateAtRegistry } from './update-at-registry.ts';
