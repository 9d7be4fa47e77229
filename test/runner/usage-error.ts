/** A command that was called wrongly says so in one sentence. */
export class UsageError extends Error {}

/** The exit code of a wrong call, once it is told; what else went wrong is thrown on. */
export function tellUsage(error: unknown): 2 {
  const isWrong = error instanceof UsageError || String(Object(error).code).startsWith('ERR_PARSE_ARGS');
  if (!isWrong) throw error;
  console.error((error as Error).message);
  return 2;
}
