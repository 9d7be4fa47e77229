import { ApiError } from '../../../kernel/http/errors.ts';

/** A zone file that cannot be taken: where, and what to do about it. */
export function badFile(line: number, message: string): ApiError {
  return new ApiError('bad_request', { param: 'zone_file', message: `Line ${line}: ${message}`, details: { line } });
}

/** Runs `work`; what it refuses of a record is told of its line. */
export function onLine<T>(line: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof ApiError && error.code === 'bad_request') throw badFile(line, error.message);
    throw error;
  }
}
