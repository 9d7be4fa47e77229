/**
 * The one way to a tenant's rows: a handle that adds the project to every query by itself. Operations are given one
 * that is bound to their caller's project already; jobs and the engine make one for the project that they work for.
 *
 *   db.selectFrom('agents')…            the scope adds the predicate, or the column, as the query is compiled
 *   db.raw({ text: '… $1 …', values })  SQL as it stands, whose $1 is the project: a text that leaves $1 out is refused
 */
import { type Kysely, QueryCreator, type QueryCreatorProps } from 'kysely';
import type { Database, Executor, Rows, Statement, Transaction } from '../../kernel/db/database.ts';
import { scoped, unscoped } from '../../kernel/db/kysely.ts';
import type { EnqueueOptions, Jobs } from '../../kernel/jobs/jobs.ts';
import { type SystemTables, type TenantTables, tenantTables } from '../tables.ts';
import { EXECUTOR } from './executor-of.ts';

/** Queries over one project's rows. Cheap to make: the query builder comes with the first query that needs it. */
export class TenantDb<E extends Executor = Executor> extends QueryCreator<TenantTables> {
  readonly projectId: string;
  readonly [EXECUTOR]: E;

  constructor(executor: E, projectId: string) {
    super(scopedLater(executor, projectId));
    this.projectId = projectId;
    this[EXECUTOR] = executor;
  }

  /** Runs SQL as it stands. `$1` is the project, `values` begin at `$2`; the store refuses a text without `$1`. */
  raw<Row = Record<string, unknown>>(statement: Statement): Promise<Rows<Row>> {
    return this[EXECUTOR].query<Row>({ ...statement, values: [this.projectId, ...(statement.values ?? [])] });
  }
}

/** Inside one transaction. */
export class TenantTransaction extends TenantDb<Transaction> {
  /** Runs once the transaction has committed, in order; never after a rollback. Must not throw. */
  afterCommit(action: () => void): void {
    this[EXECUTOR].afterCommit(action);
  }

  /** Sends a wake-up that leaves only if the transaction commits. */
  notify(channel: string, payload: string): Promise<void> {
    return this[EXECUTOR].notify(channel, payload);
  }

  /** Marks the place that `rollbackTo` goes back to, letting go of the locks taken since. */
  async savepoint(name: 'unlinked'): Promise<void> {
    await this[EXECUTOR].query({ text: `savepoint ${name}`, values: [] });
  }

  async rollbackTo(name: 'unlinked'): Promise<void> {
    await this[EXECUTOR].query({ text: `rollback to savepoint ${name}`, values: [] });
  }

  /** Adds a job that exists once the transaction has committed. See `Jobs.enqueue`. */
  enqueue(
    jobs: Pick<Jobs, 'enqueue'>,
    name: string,
    data: object,
    options?: EnqueueOptions,
  ): Promise<string | undefined> {
    return jobs.enqueue(this[EXECUTOR], name, data, options);
  }
}

/** Outside of any transaction: each statement is its own. */
export class TenantDatabase extends TenantDb<Database> {
  /** Commits when `work` resolves, rolls back when it rejects. Nesting is not supported. */
  transaction<T>(work: (tx: TenantTransaction) => Promise<T>): Promise<T> {
    return this[EXECUTOR].transaction((tx) => work(new TenantTransaction(tx, this.projectId)));
  }
}

export type SystemDb = Kysely<SystemTables>;

/** Queries over one project's rows, inside `executor`'s transaction when it is one. */
export function tenantDb(executor: Executor, projectId: string): TenantDb {
  return new TenantDb(executor, projectId);
}

/** Queries over organizations, projects and signing keys, which stand above tenants. */
export function systemDb(executor: Executor): SystemDb {
  return unscoped<SystemTables>(executor);
}

/** A query builder costs more to make than many a handle is used for. */
function scopedLater(executor: Executor, projectId: string): QueryCreatorProps {
  let made: QueryCreatorProps['executor'] | undefined;
  return {
    get executor() {
      made ??= scoped<TenantTables>(executor, {
        column: 'project_id',
        value: projectId,
        tables: tenantTables,
      }).getExecutor();
      return made;
    },
  };
}
