/** The port to SQL of one replica. A commit is an effect of its own: after a crash it is done, and the replica has not heard of it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Database, Rows, Statement, Transaction } from '../../src/kernel/db/database.ts';
import type { Done, Effects } from './effects.ts';

interface OpenTransaction {
  isOpen: boolean;
  /** What is written in it. */
  readonly changes: string[];
}

const current = new AsyncLocalStorage<OpenTransaction>();

export interface CountedDatabaseOptions {
  /** False: listeners are told nothing, as wake-ups come when they like. For replicas whose work a test asks for. Default true. */
  readonly hearsWakeUps?: boolean;
}

export function countDatabase(
  inner: Database,
  effects: Effects,
  { hearsWakeUps = true }: CountedDatabaseOptions = {},
): Database {
  const isNested = () => current.getStore()?.isOpen === true;
  const db: Database = {
    kind: inner.kind,
    use: inner.use,
    query<Row>(statement: Statement): Promise<Rows<Row>> {
      // Refused there, as it always is.
      if (isNested()) return inner.query<Row>(statement);
      const label = describeStatement(statement);
      return effects.perform({ label, isChange: !isRead(statement) }, () => inner.query<Row>(statement));
    },
    transaction: (work) => (isNested() ? inner.transaction(work) : runTransaction(inner, effects, db, work)),
    // A hint that may be lost: it is not counted.
    wake(channel) {
      if (!effects.isDead) inner.wake(channel);
    },
    notify: (channel, payload) => effects.perform({ label: `notify ${channel}` }, () => inner.notify(channel, payload)),
    async listen(channel, onMessage, onGap) {
      if (!hearsWakeUps) return async () => undefined;
      const label = `listen ${channel}`;
      const stop = await effects.perform({ label, isChange: false }, () =>
        inner.listen(
          channel,
          (payload) => {
            if (!effects.isDead) onMessage(payload);
          },
          () => {
            if (!effects.isDead) onGap?.();
          },
        ),
      );
      effects.onCrash(() => void stop().catch(() => undefined));
      return stop;
    },
    ping: () => effects.perform({ label: 'ping', isChange: false }, () => inner.ping()),
    // The database outlives its replicas.
    close: async () => undefined,
  };
  return db;
}

async function runTransaction<Result>(
  inner: Database,
  effects: Effects,
  db: Database,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const transaction: OpenTransaction = { isOpen: true, changes: [] };
  const actions: (() => void)[] = [];
  let done: Done = await effects.hold({ label: 'begin', isChange: false, begins: transaction });
  try {
    const result = await inner.transaction(async (tx) => {
      done();
      const counted = countTransaction(tx, { effects, db, transaction, actions });
      const run = () => effects.runInTransaction(transaction, () => work(counted));
      // One that waits for something else is rolled back at the crash all the same.
      const worked = await Promise.race([current.run(transaction, run), effects.crashed]);
      done = await effects.hold({ label: describeCommit(transaction), transaction });
      return worked;
    });
    transaction.isOpen = false;
    effects.closeTransaction(transaction);
    done();
    for (const action of actions) action();
    return result;
  } finally {
    transaction.isOpen = false;
    effects.closeTransaction(transaction);
    // After a failure of BEGIN or COMMIT the effect is still under way.
    done();
  }
}

interface Parts {
  readonly effects: Effects;
  readonly db: Database;
  readonly transaction: OpenTransaction;
  readonly actions: (() => void)[];
}

function countTransaction(tx: Transaction, { actions, db, effects, transaction }: Parts): Transaction {
  return {
    query<Row>(statement: Statement): Promise<Rows<Row>> {
      const label = describeStatement(statement);
      if (!isRead(statement)) transaction.changes.push(label);
      return effects.perform({ label, isChange: false, transaction }, () => tx.query<Row>(statement));
    },
    notify: (channel, payload) =>
      effects.perform({ label: `notify ${channel}`, isChange: false, transaction }, () => tx.notify(channel, payload)),
    wake: (channel) => void actions.push(() => db.wake(channel)),
    afterCommit: (action) => void actions.push(action),
  };
}

function describeCommit({ changes }: OpenTransaction): string {
  return changes.length === 0 ? 'commit' : `commit of ${[...new Set(changes)].join(', ')}`;
}

/** Its verb and its table: `update domains.orders`. */
export function describeStatement({ text }: Pick<Statement, 'text'>): string {
  const plain = text.replaceAll('"', '').replace(/\s+/g, ' ').trim().toLowerCase();
  const written = /\b(insert into|update|delete from) (?!of\b|skip\b|nowait\b)([a-z_.]+)/.exec(plain);
  if (written !== null && !/^select\b.*\bfor (no key )?update\b/.test(plain)) return `${written[1]} ${written[2]}`;
  const read = /\bfrom ([a-z_.]+)/.exec(plain);
  return read === null ? plain.slice(0, 60) : `select from ${read[1]}`;
}

/** A statement that locks rows changes nothing either once its transaction is over. */
function isRead({ text }: Statement): boolean {
  if (/pg_notify|nextval|set_config/i.test(text)) return false;
  return /^[\s(]*select\b/i.test(text) || (/^\s*with\b/i.test(text) && !/\b(insert|update|delete|merge)\b/i.test(text));
}
