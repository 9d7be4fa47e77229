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
  /** Which it has in cases that the contract names; the thrower says so. */
  readonly alsoStatus?: number;
  readonly type: ErrorType;
  /** Public text, used when the thrower gives none. Says what to do next. */
  readonly message: string;
}

export type ErrorCatalogue = Readonly<Record<string, ErrorEntry>>;

/** A part of a catalogue as it is written down: the type follows from the status. */
export type ErrorTexts = Readonly<Record<string, Omit<ErrorEntry, 'type'>>>;

/** One catalogue of these parts. Throws where two of them have the same code. */
export function defineErrors<Parts extends readonly ErrorTexts[]>(
  ...parts: Parts
): Readonly<Record<CodesOf<Parts[number]>, ErrorEntry>> {
  const catalogue: Record<string, ErrorEntry> = {};
  for (const [code, entry] of parts.flatMap((part) => Object.entries(part))) {
    if (code in catalogue) throw new TypeError(`the error code ${code} is defined twice`);
    catalogue[code] = { ...entry, type: typeOfStatus(entry.status) };
  }
  return catalogue as Record<CodesOf<Parts[number]>, ErrorEntry>;
}

/** The codes of each part, also where the parts are a union. */
type CodesOf<Part> = Part extends unknown ? Extract<keyof Part, string> : never;

/** What kind of error a status is to OpenAI's clients. */
function typeOfStatus(status: number): ErrorType {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'api_error' : 'invalid_request_error';
}

export interface ApiErrorDetail {
  /** Public text; the catalogue's when absent. Never put a secret or an internal cause here. */
  readonly message?: string;
  /** The request field at fault, as a dotted path: `input.0.role`. */
  readonly param?: string;
  /** Machine-readable members that the contract names, e.g. the required scope. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Instead of the code's: its `alsoStatus`, or one that HTTP itself demands (416 of a range). */
  readonly status?: number;
  readonly retryAfterSeconds?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** For the log only. */
  readonly cause?: unknown;
}

/**
 * Headers of a refusal that its repetition does not mend, or would make worse: OpenAI's clients repeat 409, 429 and 5xx by
 * themselves, and obey this.
 */
export const DO_NOT_RETRY = { 'x-should-retry': 'false' } as const;

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

/** What of an error its caller may see. */
export interface PublicError {
  readonly code: string;
  readonly type: ErrorType;
  readonly message: string;
  readonly param: string | null;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** A service's way to tell errors; an operation that tells them otherwise has an `OperationErrorDialect`. */
export interface ErrorDialect {
  /** JSON Schema of the body: the component `Error` of the document. */
  readonly schema: Readonly<Record<string, unknown>>;
  render(error: PublicError): Record<string, unknown>;
  /** The service's names of codes that the kernel throws, where they differ. */
  readonly names: Readonly<Record<string, string>>;
}

/** The code as this service's catalogue has it; `internal_error` for one that it lacks. */
export function codeIn(catalogue: ErrorCatalogue, dialect: ErrorDialect, code: string): string {
  const name = dialect.names[code] ?? code;
  return Object.hasOwn(catalogue, name) ? name : (dialect.names.internal_error ?? 'internal_error');
}

/** What of a refusal its caller may see. An error that the catalogue lacks keeps its message to itself. */
export function publicError(catalogue: ErrorCatalogue, dialect: ErrorDialect, refusal: ApiError): PublicError {
  const code = codeIn(catalogue, dialect, refusal.code);
  const entry = catalogue[code];
  const { message, param, details } = refusal.detail;
  const isKnown = code === (dialect.names[refusal.code] ?? refusal.code);
  return {
    code,
    type: entry?.type ?? 'api_error',
    message: (isKnown ? message : undefined) ?? entry?.message ?? code,
    param: param ?? null,
    ...(details === undefined ? {} : { details }),
  };
}

/** The body that tells the error. */
export function errorBody(
  catalogue: ErrorCatalogue,
  refusal: ApiError,
  dialect = openAiErrors,
): Record<string, unknown> {
  return dialect.render(publicError(catalogue, dialect, refusal));
}

/** The envelope that OpenAI's clients read: `{error: {message, type, param, code, details?}}`. */
export const openAiErrors: ErrorDialect = {
  names: {},
  render: ({ message, type, param, code, details }) => ({
    error: { message, type, param, code, ...(details === undefined ? {} : { details }) },
  }),
  schema: {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['message', 'type', 'code'],
        properties: {
          message: { type: 'string', description: 'For people: what went wrong and what to do next.' },
          type: { type: 'string' },
          param: { type: ['string', 'null'], description: 'The member at fault, as a dotted path.' },
          code: { type: 'string', description: 'Stable; branch on it.' },
          details: { type: 'object', additionalProperties: true },
        },
      },
    },
  },
};
