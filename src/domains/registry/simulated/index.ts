export { defaultDelays, type RegistryDelays } from './command-context.ts';
export { createRegistryCore, type RegistryCoreOptions } from './create-registry-core.ts';
export type * from './registry-core.ts';
