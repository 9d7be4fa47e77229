/** What other resources may use of runs. */
export { INVALID_INPUT, InputMessage } from './schema.ts';
