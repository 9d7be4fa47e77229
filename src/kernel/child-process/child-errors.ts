/** Why a child process is gone, where nobody meant it to go. */

export class ChildEndedError extends Error {
  override readonly name: string = 'ChildEndedError';
}

/** It did not answer in time, and was killed. */
export class ChildTimedOutError extends ChildEndedError {
  override readonly name = 'ChildTimedOutError';
  readonly timeoutMs: number;

  constructor(child: string, timeoutMs: number) {
    super(`the child process of ${child} did not answer within ${Math.round(timeoutMs)} ms and was ended`);
    this.timeoutMs = timeoutMs;
  }
}

/** It used more processor time than it was allowed. */
export class ChildOutOfProcessorTimeError extends ChildEndedError {
  override readonly name = 'ChildOutOfProcessorTimeError';
  readonly limitMs: number;

  constructor(child: string, limitMs: number) {
    super(`the child process of ${child} used more than ${Math.round(limitMs)} ms of processor time and was ended`);
    this.limitMs = limitMs;
  }
}

/** It filled its heap, or held more memory in all than it may. */
export class ChildOutOfMemoryError extends ChildEndedError {
  override readonly name = 'ChildOutOfMemoryError';
  readonly limit: 'heap' | 'resident';
  readonly limitBytes: number;

  constructor(child: string, limit: 'heap' | 'resident', limitBytes: number) {
    const kind = limit === 'heap' ? 'JavaScript heap' : 'resident memory';
    super(`the child process of ${child} took more than ${limitBytes} bytes of ${kind} and was ended`);
    this.limit = limit;
    this.limitBytes = limitBytes;
  }
}

/** Its answer is larger than an answer may be; none of it was taken in. */
export class ChildAnswerTooLargeError extends ChildEndedError {
  override readonly name = 'ChildAnswerTooLargeError';
  readonly limitBytes: number;

  constructor(child: string, limitBytes: number) {
    super(`the child process of ${child} answered with more than ${limitBytes} bytes and was ended`);
    this.limitBytes = limitBytes;
  }
}

/** It ended by a fault of its program, or was killed from outside. */
export class ChildCrashedError extends ChildEndedError {
  override readonly name = 'ChildCrashedError';
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The end of what it wrote to standard error. */
  readonly output: string;

  constructor(child: string, exitCode: number | null, signal: NodeJS.Signals | null, output: string) {
    const how = signal === null ? `with exit code ${exitCode}` : `by ${signal}`;
    super(`the child process of ${child} ended ${how}${output === '' ? '' : `: ${output}`}`);
    this.exitCode = exitCode;
    this.signal = signal;
    this.output = output;
  }
}
