/** The SQLSTATE codes that callers branch on. https://www.postgresql.org/docs/current/errcodes-appendix.html */
export const sqlState = {
  uniqueViolation: '23505',
  foreignKeyViolation: '23503',
  checkViolation: '23514',
  serializationFailure: '40001',
  deadlockDetected: '40P01',
  lockNotAvailable: '55P03',
  queryCanceled: '57014',
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

/** The store could not be reached at all: nothing was run. The message names the address and never the password. */
export class StoreUnreachableError extends Error {
  override readonly name = 'StoreUnreachableError';
}
