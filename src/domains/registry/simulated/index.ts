export type { RegistryDelays } from './command-context.ts';
export { createRegistryCore, type RegistryCoreOptions } from './create-registry-core.ts';
export { addFault, type Fault, type FaultCommand, type Faults, type NewFault } from './faults.ts';
export type * from './registry-core.ts';
export { createSimulatedRegistry, OUR_REGISTRAR, type SimulatedRegistryOptions } from './simulated-registry.ts';
export { type RegistryDb, registryDb } from './tables.ts';
