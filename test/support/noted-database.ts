/** A database that notes the statements that pass through it, those of transactions too. */
import type { Database, Executor, Statement } from '../../src/kernel/db/database.ts';

export interface NotedStatement extends Statement {
  /** It shared a transaction of several. */
  readonly isInTransaction: boolean;
}

/** It lives as long as the one that it stands for. A statement goes on once `before` has let it. */
export function noteStatements(
  of: Database,
  before: (statement: Statement) => Promise<void> | undefined = () => undefined,
): { readonly db: Database; readonly seen: NotedStatement[] } {
  const seen: NotedStatement[] = [];
  const noting = (executor: Executor, isInTransaction: boolean): Executor['query'] => {
    return async (statement) => {
      seen.push({ ...statement, isInTransaction });
      await before(statement);
      return executor.query(statement);
    };
  };
  const db: Database = {
    kind: of.kind,
    use: of.use,
    query: noting(of, false),
    transaction: (work) =>
      of.transaction((tx) =>
        work({
          query: noting(tx, true),
          wake: (channel) => tx.wake(channel),
          afterCommit: (action) => tx.afterCommit(action),
          notify: (channel, payload) => tx.notify(channel, payload),
        }),
      ),
    wake: (channel) => of.wake(channel),
    notify: (channel, payload) => of.notify(channel, payload),
    listen: (channel, onMessage, onGap) => of.listen(channel, onMessage, onGap),
    ping: () => of.ping(),
    close: async () => {},
  };
  return { db, seen };
}
