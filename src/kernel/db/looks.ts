/** Which statements are a use of their store: see `store-use.ts`. */
import type { Executor, Rows, Statement } from './database.ts';

/** That of a row lock changes nothing. */
const CHANGES = /\binsert\s+into\b|\bdelete\s+from\b|(?<!\bfor\s)(?<!\bkey\s)\bupdate\s+["\w]/i;
const REMEMBERED = 4_000;
const known = new Map<string, boolean>();

/** A statement that begins with the change: its row count is that of the rows it has changed. */
const IS_CHANGE = /^\s*(?:insert|update|delete)\b/i;

/** By its text: what a function of the store changes is not seen. `answer`: undefined where it failed. */
export function isUse(statement: Statement, answer: Pick<Rows<unknown>, 'rowCount'> | undefined): boolean {
  const { isLook, text } = statement;
  if (isLook === true || (answer?.rowCount === 0 && IS_CHANGE.test(text))) return false;
  const before = known.get(text);
  if (before !== undefined) return before;
  const changes = CHANGES.test(text);
  if (known.size >= REMEMBERED) known.clear();
  known.set(text, changes);
  return changes;
}

const looks = new WeakMap<Executor, Executor>();

/** The same, for the statements by which a worker takes what there is to do, if anything: by themselves they are no use. */
export function asLook(executor: Executor): Executor {
  const made = looks.get(executor);
  if (made !== undefined) return made;
  const look: Executor = {
    query: (statement) => executor.query({ ...statement, isLook: true }),
    wake: (channel) => executor.wake(channel),
  };
  looks.set(executor, look);
  return look;
}
