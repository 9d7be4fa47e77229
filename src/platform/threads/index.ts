/**
 * Threads and their messages: all that writes to these tables is here. Whoever reads a thread for itself may do so.
 *
 * A thread is a row of `threads`, and its messages are ordered by (turn, position): the turn is counted by the thread, so
 * that nobody's clock decides. A turn is written by a run, in the engine's one-statement start and steps, which embed the
 * SQL of thread-sql.ts; or by `appendMessages`, without a run.
 */
export {
  appendMessages,
  dropDerived,
  insertMessage,
  MESSAGE_COLUMNS,
  type MessagePlace,
  type MessageRow,
  type NewMessageRow,
  replaceMessage,
  type ThreadOf,
} from './append-messages.ts';
export { copyThread } from './copy-thread.ts';
export { deleteMessages } from './delete-messages.ts';
export {
  countTurnSql,
  deleteEmptyThreadSql,
  insertMessagesSql,
  insertQuestionSql,
  MESSAGES_AS_JSON,
  markRecalledSql,
  nextTurnSql,
  summarizeSql,
} from './thread-sql.ts';
