/** A job, as those who define it and those who run it see it. */

/** The part of the application's logger that jobs use. */
export interface JobsLogger {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface Job<Data extends object> {
  readonly id: string;
  readonly data: Data;
  /** 1 on the first run. */
  readonly attempt: number;
  /** Runs that ended with the abrupt end of their process (see QueueOptions.abruptEndLimit) since the job made progress. */
  readonly abruptEnds: number;
  /** To be called when what the job has done so far need not be done again: abrupt ends until now no longer count. */
  keepProgress(): Promise<void>;
  /** Aborted when the job's time is up or the process stops: stop, the job runs again. */
  readonly signal: AbortSignal;
}

/** Resolves when the job is done; rejects to have it run again. */
export type JobHandler<Data extends object> = (job: Job<Data>) => Promise<void>;

/** What pg-boss hands out, and what it wants back to settle just this attempt. */
export interface Claim {
  readonly id: string;
  readonly retryCount: number;
}
