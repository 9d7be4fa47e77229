/** The SQLSTATE codes that callers branch on. https://www.postgresql.org/docs/current/errcodes-appendix.html */
export const sqlState = {
  uniqueViolation: '23505',
  foreignKeyViolation: '23503',
  checkViolation: '23514',
  serializationFailure: '40001',
  deadlockDetected: '40P01',
  lockNotAvailable: '55P03',
  queryCanceled: '57014',
  undefinedTable: '42P01',
  stalePlan: '0A000',
} as const;

/** The SQLSTATE of an error that a statement was answered with; undefined for any other error. */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined;
  return /^[0-9A-Z]{5}$/.test(error.code) ? error.code : undefined;
}

/** Whether a statement broke a unique index or constraint: any, or the one named. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  if (sqlStateOf(error) !== sqlState.uniqueViolation) return false;
  return (
    constraint === undefined || (error instanceof Error && 'constraint' in error && error.constraint === constraint)
  );
}

/** By which row or name of its catalogue the server noticed it depends on how far the other had come. */
const MADE_MEANWHILE: readonly (string | undefined)[] = [
  sqlState.uniqueViolation,
  '42P06', // schema
  '42P07', // table or index
  '42701', // column
  '42710', // type, which each table has
];

/** Whether `create … if not exists` failed as another session made the same meanwhile. Once more finds it. */
export function isMadeMeanwhile(error: unknown): boolean {
  return MADE_MEANWHILE.includes(sqlStateOf(error));
}

/** The store does not do its work now: the same statement may succeed later. What was under way may have been carried out. */
export class StoreUnavailableError extends Error {
  override readonly name: string = 'StoreUnavailableError';
}

/** The store could not be reached at all: nothing was run. The message names the address and never the password. */
export class StoreUnreachableError extends StoreUnavailableError {
  override readonly name = 'StoreUnreachableError';
}

/** States of the server, and not of the statement: by class, and by code. */
const UNAVAILABLE_CLASSES: ReadonlySet<string> = new Set([
  '08', // connection
  '53', // disk full, out of memory, too many connections
  '58', // the server's system, its disk above all
]);
const UNAVAILABLE_STATES: ReadonlySet<string> = new Set([
  '25006', // read-only: a standby, or a server that a full disk has stopped
  '25P03', // the transaction was idle for too long
  '25P04', // the transaction took too long
  '40001', // a conflict with another transaction
  '40P01', // a deadlock with another transaction
  '55P03', // a lock that was not given in time
  '57014', // the statement took too long
  '57P01', // the server is being shut down
  '57P02', // the server crashed
  '57P03', // the server is starting
  '57P05', // the session was idle for too long
]);
const CAUSES_MAX = 5;

/**
 * Whether the store failed rather than the statement, so that repeating the request will help. Also where such a failure is
 * the cause of the error.
 */
export function isStoreUnavailable(error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < CAUSES_MAX && current instanceof Error; depth += 1) {
    if (current instanceof StoreUnavailableError) return true;
    const state = sqlStateOf(current);
    if (state !== undefined && (UNAVAILABLE_STATES.has(state) || UNAVAILABLE_CLASSES.has(state.slice(0, 2))))
      return true;
    current = current.cause;
  }
  return false;
}

/** Whether the server answered the statement with an error and lives: nothing of the statement was carried out. */
export function wasRolledBack(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state !== undefined && !UNAVAILABLE_CLASSES.has(state.slice(0, 2)) && !state.startsWith('57P');
}

/** What `pg` says of a connection that ended, or was given up, while a statement waited for its answer, or before it was sent. */
const CONNECTION_ENDED =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|Query read timeout)/;
const SOCKET_CODES: ReadonlySet<string> = new Set(
  'ECONNRESET ECONNREFUSED ECONNABORTED EPIPE ETIMEDOUT EHOSTUNREACH ENETUNREACH ENETDOWN ENOTCONN'.split(' '),
);

/** The error of a statement; a lost connection as `StoreUnavailableError`. */
export function describeStatementError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = 'code' in error ? String(error.code) : '';
  if (!SOCKET_CODES.has(code) && !CONNECTION_ENDED.test(error.message)) return error;
  return new StoreUnavailableError(`the connection to the store was lost: ${error.message}`, { cause: error });
}
