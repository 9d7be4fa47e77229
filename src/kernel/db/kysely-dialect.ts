import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely';
import type { Executor } from './database.ts';
import type { TenantScope } from './tenant-scope.ts';

/**
 * The scope works in the compiler and not as a plugin, which `withoutPlugins()` would take off; and the connection runs
 * only what this dialect compiled, so that a query compiled elsewhere cannot slip through.
 */
export class ExecutorDialect implements Dialect {
  readonly #executor: Executor;
  readonly #scope: TenantScope | undefined;
  readonly #compiled = new WeakSet<CompiledQuery>();

  constructor(executor: Executor, scope?: TenantScope) {
    this.#executor = executor;
    this.#scope = scope;
  }

  createDriver(): Driver {
    return new ExecutorDriver(this.#executor, this.#scope === undefined ? undefined : this.#compiled);
  }

  createQueryCompiler(): PostgresQueryCompiler {
    return this.#scope === undefined
      ? new PostgresQueryCompiler()
      : new ScopedQueryCompiler(this.#scope, this.#compiled);
  }

  createAdapter(): PostgresAdapter {
    return new PostgresAdapter();
  }

  createIntrospector<DB>(db: Kysely<DB>): PostgresIntrospector {
    return new PostgresIntrospector(db);
  }
}

class ScopedQueryCompiler extends PostgresQueryCompiler {
  readonly #scope: TenantScope;
  readonly #compiled: WeakSet<CompiledQuery>;

  constructor(scope: TenantScope, compiled: WeakSet<CompiledQuery>) {
    super();
    this.#scope = scope;
    this.#compiled = compiled;
  }

  override compileQuery(...[node, queryId]: Parameters<PostgresQueryCompiler['compileQuery']>): CompiledQuery {
    const query = super.compileQuery(this.#scope.apply(node), queryId);
    this.#compiled.add(query);
    return query;
  }
}

class ExecutorConnection implements DatabaseConnection {
  readonly #executor: Executor;
  readonly #compiled: WeakSet<CompiledQuery> | undefined;

  constructor(executor: Executor, compiled: WeakSet<CompiledQuery> | undefined) {
    this.#executor = executor;
    this.#compiled = compiled;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#compiled?.has(query) === false) {
      throw new Error('a scoped handle runs only queries that it compiled itself: build the query from this handle');
    }
    const { rows, rowCount } = await this.#executor.query<R>({
      text: query.sql,
      values: query.parameters,
      prepare: 'generated',
    });
    return query.query.kind === 'SelectQueryNode' ? { rows } : { rows, numAffectedRows: BigInt(rowCount) };
  }

  // biome-ignore lint/correctness/useYield: the interface asks for an iterator, and there is none to give.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('stream() is not supported: read page by page with pageById');
  }
}

class ExecutorDriver implements Driver {
  readonly #connection: ExecutorConnection;

  constructor(executor: Executor, compiled: WeakSet<CompiledQuery> | undefined) {
    this.#connection = new ExecutorConnection(executor, compiled);
  }

  async init(): Promise<void> {
    // The executor is open already.
  }
  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }
  async releaseConnection(): Promise<void> {
    // The executor is its owner's.
  }
  async destroy(): Promise<void> {
    // The executor is its owner's to close.
  }
  beginTransaction(): Promise<never> {
    return refuseTransaction();
  }
  commitTransaction(): Promise<never> {
    return refuseTransaction();
  }
  async rollbackTransaction(): Promise<void> {
    // Called after the refusal; nothing was begun.
  }
}

async function refuseTransaction(): Promise<never> {
  throw new Error('use Database.transaction and make the Kysely handle from the tx that it passes');
}
