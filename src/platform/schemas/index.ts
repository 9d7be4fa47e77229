/** JSON Schemas that callers bring: their limits, and whatever is done with them. */
export { type CheckParameters, createParameterCheck } from './check-parameters.ts';
export { type AnswerProblem, createForeignSchemas, type ForeignSchemas, type MakeInstance } from './foreign-schemas.ts';
export { showPointer } from './schema-problem.ts';
