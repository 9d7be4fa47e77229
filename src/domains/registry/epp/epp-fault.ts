import type { ResultCode } from '../result-codes.ts';

/** A message that is malformed or not allowed: the code that a server answers it with, and why. */
export class EppFault extends Error {
  readonly code: ResultCode;

  constructor(code: ResultCode, reason: string) {
    super(reason);
    this.name = 'EppFault';
    this.code = code;
  }
}
