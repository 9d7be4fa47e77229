/**
 * Errors as data. A service brings one catalogue: code → status, type and a default message that tells the caller what
 * to do next. Code anywhere throws `new ApiError('not_found')`; the service's renderer makes the envelope.
 */

export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'rate_limit_error'
  | 'api_error';

export interface ErrorEntry {
  readonly status: number;
  readonly type: ErrorType;
  /** Public text, used when the thrower gives none. Says what to do next. */
  readonly message: string;
}

export type ErrorCatalogue = Readonly<Record<string, ErrorEntry>>;

export interface ApiErrorDetail {
  /** Public text; the catalogue's when absent. Never put a secret or an internal cause here. */
  readonly message?: string;
  /** The request field at fault, as a dotted path: `input.0.role`. */
  readonly param?: string;
  /** Machine-readable members that the contract names, e.g. the required scope. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** A status that HTTP itself demands (416 of a range), instead of the code's. */
  readonly status?: number;
  readonly retryAfterSeconds?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** For the log only. */
  readonly cause?: unknown;
}

/** A refusal with a code of the service's catalogue. */
export class ApiError extends Error {
  readonly code: string;
  readonly detail: ApiErrorDetail;

  constructor(code: string, detail: ApiErrorDetail = {}) {
    super(detail.message ?? code, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.name = 'ApiError';
    this.code = code;
    this.detail = detail;
  }
}

/** The public envelope of an error. */
export function errorBody(catalogue: ErrorCatalogue, code: string, refusal: ApiError): Record<string, unknown> {
  const entry = catalogue[code];
  const { message, param, details } = refusal.detail;
  return {
    error: {
      message: code === refusal.code ? (message ?? entry?.message ?? code) : (entry?.message ?? code),
      type: entry?.type ?? 'api_error',
      param: param ?? null,
      code,
      ...(details === undefined ? {} : { details }),
    },
  };
}
