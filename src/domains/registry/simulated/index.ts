export { readBill } from './bill.ts';
export type { RegistryDelays } from './command-context.ts';
export { createRegistryCore } from './create-registry-core.ts';
export { addFault, type Fault, type FaultCommand } from './faults.ts';
export type * from './registry-core.ts';
export { createSimulatedRegistry, OUR_REGISTRAR, type SimulatedRegistryOptions } from './simulated-registry.ts';
export type { SpecialNames } from './special-names.ts';
export { registryDb } from './tables.ts';
export { answerWrongly, type ChooseWrongAnswer, wrongAnswersAtRandom } from './wrong-answers.ts';
