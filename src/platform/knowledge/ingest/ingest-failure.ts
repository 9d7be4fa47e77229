/** What ends the indexing of a file, and what only interrupts it. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { DocumentError } from '../read/index.ts';
import type { IngestFailure } from './file-status.ts';

/** Passing faults of one file, after which it is given up. With the waits between them this takes a few minutes. */
export const MAX_ATTEMPTS = 8;

/** Runs of one job, those included that ended with the death of their server. */
export const MAX_RUNS = 40;

/** Readings of one file that ended abruptly, after which it is given up. */
export const MAX_ABRUPT_ENDS = 2;

export const FILE_DELETED: IngestFailure = {
  code: 'invalid_file',
  message: 'The file was deleted before it was indexed.',
};

export const NO_TEXT: IngestFailure = { code: 'invalid_file', message: 'The file has no text to index.' };

export const ENDED_ABRUPTLY: IngestFailure = {
  code: 'invalid_file',
  message: `Reading the file ended abruptly ${MAX_ABRUPT_ENDS} times: it may be damaged. Save it anew, or as another format, and add that.`,
};

export function storageFull(limitBytes: number): IngestFailure {
  return {
    code: 'server_error',
    message: `The files and vector stores of this project may take ${limitBytes} bytes together, and what the store would hold of this file does not fit. Delete files, or take them out of vector stores, and add it again.`,
  };
}

export const CUT_OFF: IngestFailure = {
  code: 'server_error',
  message: `Indexing the file was cut off ${MAX_RUNS} times. Remove it from the store and add it again; if that does not help, split it into smaller files.`,
};

/** Settings that a person has to correct first: a retry would not help. */
const LASTING_CODES: ReadonlySet<string> = new Set([
  'model_key_missing',
  'bedrock_unconfigured',
  'unknown_provider',
  'invalid_request',
  'unsupported',
]);

const WALLET_CODES: ReadonlySet<string> = new Set(['card_required', 'insufficient_credits']);
const EMPTY_WALLET = 'The organization’s wallet is empty. Top it up, remove the file from the store and add it again.';

/** The failure to record, or undefined for a fault that may pass: the file is tried again then. */
export function judgeFault(error: unknown, attempt: number): IngestFailure | undefined {
  if (error instanceof DocumentError) return { code: error.code, message: error.message };
  // Reserved: calls under way may leave room.
  if (error instanceof ApiError && error.code === 'budget_exceeded' && error.detail.details?.reason === 'spent') {
    return { code: 'server_error', message: `${error.message} Then remove the file from the store and add it again.` };
  }
  if (error instanceof ApiError && WALLET_CODES.has(error.code)) {
    return { code: 'server_error', message: EMPTY_WALLET };
  }
  const cause = error instanceof ApiError && error.message !== error.code ? error.message : 'The server had a fault.';
  if (error instanceof ApiError && LASTING_CODES.has(error.code)) {
    return {
      code: 'server_error',
      message: `The embedding model cannot be used: ${cause} Then remove the file from the store and add it again.`,
    };
  }
  if (attempt < MAX_ATTEMPTS) return undefined;
  return {
    code: 'server_error',
    message: `Indexing the file failed ${attempt} times, the last time so: ${cause} Remove the file from the store and add it again.`,
  };
}
