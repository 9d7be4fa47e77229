/** The command was certainly not carried out: it never left, or the server said that the session took nothing more. */
export class CommandNotSent extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CommandNotSent';
  }
}

/** Nor was it meant to be yet: the registry takes so many commands, and others came first. */
export class TurnNotCome extends CommandNotSent {}

/** The command left and no answer to it came: it may or may not have been carried out. */
export class AnswerLost extends Error {
  readonly clTRID: string;

  constructor(clTRID: string, message: string, cause?: unknown) {
    super(`no answer to ${clTRID}: ${message}`, cause === undefined ? undefined : { cause });
    this.name = 'AnswerLost';
    this.clTRID = clTRID;
  }
}

/** Bytes came, and they are no answer. */
export class UnreadableAnswer extends AnswerLost {
  /** Why, in words. */
  readonly reason: string;
  /** All that came; empty where it was no frame. */
  readonly bytes: Uint8Array;

  constructor(clTRID: string, cause: Error, bytes: Uint8Array) {
    super(clTRID, cause.message, cause);
    this.reason = cause.message;
    this.bytes = bytes;
  }
}
