/** What an operator does beside the interface: by the command line, through the running server where it holds the store. */
export { askOperator, OperatorUnreachableError } from './ask-operator.ts';
export { type OperatorDependencies, operate } from './operate.ts';
export {
  type OperatorSocket,
  type OperatorSocketDependencies,
  operatorSocketPath,
  startOperatorSocket,
} from './operator-socket.ts';
export { type AnswerOf, OperatorError, type OperatorVerb, type RequestOf } from './verbs.ts';
