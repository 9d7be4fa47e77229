/** What an operator does beside the HTTP interface: by the command line, through the running server where it holds the store. */
export { askOperator, OperatorUnreachableError } from './ask-operator.ts';
export { type OperatorSocket, operatorSocketPath, startOperatorSocket } from './operator-socket.ts';
export {
  type AnswerOf,
  type OperatedService,
  OperatorError,
  type OperatorVerbs,
  type RequestOf,
  type VerbHandlers,
  type VerbTable,
} from './verbs.ts';
