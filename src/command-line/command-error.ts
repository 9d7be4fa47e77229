/** A failure that the person at the keyboard can fix: its message is shown alone, without a stack. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(message: string, options: { exitCode?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CommandError';
    this.exitCode = options.exitCode ?? EXIT_FAILURE;
  }
}

export const EXIT_OK = 0;
export const EXIT_FAILURE = 1;
/** A wrong command line or a wrong environment: starting again without a change is pointless. */
export const EXIT_USAGE = 2;

/** What a verb's action calls with its exit code when that is not 0. */
export type Finish = (exitCode: number) => void;
