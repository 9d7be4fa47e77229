/** What other resources use of the settings: changes at the registry. */
export type { SettingsDependencies } from './dependencies.ts';
export { errorOf, notKnown, readAtRegistry, updateAtRegistry } from './update-at-registry.ts';
