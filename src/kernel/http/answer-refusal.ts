/** Whatever a check or a handler throws, as an answer: the envelope of the catalogue, and the cause for the log only. */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  ApiError,
  codeIn,
  DO_NOT_RETRY,
  type ErrorCatalogue,
  type ErrorDialect,
  errorBody,
  openAiErrors,
  publicError,
} from './errors.ts';
import { lingerBeforeClose } from './lingering-close.ts';
import type { Operation } from './operation.ts';
import type { OperationErrorDialect } from './operation-errors.ts';
import { TextReply } from './reply.ts';
import { FORM_TYPE } from './request-body.ts';
import { setHeader } from './request-state.ts';
import { sendText } from './run-operation.ts';
import { refusalFor, STORAGE_RETRY_AFTER_SECONDS } from './storage-faults.ts';
import { noForm } from './upload.ts';
import { type RequestPart, refusalOf } from './validation.ts';

export interface RefusalOptions {
  /** The realm of a 401. */
  readonly name: string;
  readonly errors: ErrorCatalogue;
  readonly errorDialect: ErrorDialect;
  /** Where the document and its page are: see openapi.ts. */
  readonly basePath: string;
  readonly bodyLimitBytes: number;
  /** What of it the caller may be told. */
  readonly narrow: (refusal: ApiError, request: FastifyRequest) => ApiError;
  /** Puts the headers on the answer that every answer carries. */
  readonly showQuota: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
}

/** Sets how errors are answered. */
export function answerRefusals(app: FastifyInstance, options: RefusalOptions): void {
  app.setErrorHandler(async (error: FastifyError, request, reply) => {
    if (reply.getHeader('connection') === 'close') lingerBeforeClose(request.raw);
    await options.showQuota(request, reply);
    const { operation } = request.routeOptions.config;
    const refusal = options.narrow(toApiError(error, options.bodyLimitBytes, operation), request);
    const entry = options.errors[codeIn(options.errors, options.errorDialect, refusal.code)];
    const status = refusal.detail.status ?? entry?.status ?? 500;
    if (status >= 500 && refusal.code !== 'service_overloaded') {
      request.log.error({ err: refusal.detail.cause ?? error, code: refusal.code }, 'request failed');
    }
    const retryAfterSeconds = refusal.detail.retryAfterSeconds ?? usualWaitSeconds(refusal.code);
    // A conflict that does not say when it clears stays for every repetition.
    const isFinal = status === 409 && retryAfterSeconds === undefined && options.errorDialect === openAiErrors;
    const headers = { ...(isFinal ? DO_NOT_RETRY : {}), ...refusal.detail.headers };
    for (const [name, value] of Object.entries(headers)) setHeader(request, reply, name, value);
    if (retryAfterSeconds !== undefined) {
      setHeader(request, reply, 'retry-after', String(Math.ceil(retryAfterSeconds)));
    }
    const challenge = challengeOf(request, status, refusal, options.name);
    if (challenge !== undefined && !('www-authenticate' in (refusal.detail.headers ?? {}))) {
      setHeader(request, reply, 'www-authenticate', challenge);
    }
    if (operation?.errorDialect !== undefined) {
      return answerInDialect(request, reply, operation.errorDialect, status, refusal, options);
    }
    return sendJson(reply, status, errorBody(options.errors, refusal, options.errorDialect));
  });
  app.setNotFoundHandler(() => {
    const { basePath } = options;
    throw new ApiError('not_found', {
      message: `No such route. The routes are listed at ${basePath}/openapi.json and ${basePath}/docs.`,
    });
  });
}

/** What `WWW-Authenticate` says, where the refusal is one that another token would mend. */
function challengeOf(request: FastifyRequest, status: number, { code }: ApiError, realm: string): string | undefined {
  const { operation } = request.routeOptions.config;
  const further = operation?.challenge?.(request.params as Record<string, string>);
  const bearer = [`Bearer realm="${realm}"`, ...(further === undefined ? [] : [further])].join(', ');
  if (status === 401) return bearer;
  // RFC 6750, section 3.1.
  const isOfScope = status === 403 && code === 'insufficient_scope' && further !== undefined;
  return isOfScope ? `${bearer}, error="insufficient_scope"` : undefined;
}

/** Tells the refusal as the operation does. */
function answerInDialect(
  request: FastifyRequest,
  reply: FastifyReply,
  dialect: OperationErrorDialect,
  status: number,
  refusal: ApiError,
  { errors, errorDialect }: RefusalOptions,
): FastifyReply {
  const { id: requestId, body, state } = request;
  // While a raw body is read, the request has another type in the place of the sender's.
  const headers =
    state?.contentType === undefined ? request.headers : { ...request.headers, 'content-type': state.contentType };
  const rendered = dialect.render(publicError(errors, errorDialect, refusal), { status, requestId, headers, body });
  if (rendered instanceof TextReply) return sendText(request, reply, rendered);
  for (const [name, value] of Object.entries(rendered.headers)) setHeader(request, reply, name, value);
  return sendJson(reply, rendered.status, rendered.body);
}

function sendJson(reply: FastifyReply, status: number, body: unknown): FastifyReply {
  return reply.code(status).type('application/json; charset=utf-8').serializer(JSON.stringify).send(body);
}

function toApiError(error: FastifyError, bodyLimitBytes: number, operation: Operation<unknown> | undefined): ApiError {
  if (error instanceof ApiError) return error;
  if (error.validation) {
    return refusalOf(error.validation as never, (error.validationContext ?? 'body') as RequestPart);
  }
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE': {
      const limit = operation?.maxBodyBytes ?? bodyLimitBytes;
      return new ApiError('payload_too_large', { message: `The body is larger than ${limit} bytes.` });
    }
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return refusalOfType(operation);
    default:
      break;
  }
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) {
    return new ApiError('invalid_request', {
      message: `The request could not be read: ${error.message.replace(/\.?$/, '.')}`,
    });
  }
  return refusalFor(error);
}

/** Of a refusal that says when to come back although nobody has said when. */
function usualWaitSeconds(code: string): number | undefined {
  return code === 'storage_unavailable' ? STORAGE_RETRY_AFTER_SECONDS : undefined;
}

/** The refusal of a body whose type the operation does not read. */
function refusalOfType(operation: Operation<unknown> | undefined): ApiError {
  if (operation?.upload !== undefined) return noForm(operation.upload.field);
  const types = { json: 'application/json', form: FORM_TYPE, 'json or form': `application/json or ${FORM_TYPE}` };
  const format = operation?.bodyFormat ?? 'json';
  const wanted = format === 'raw' || format === 'files' ? types.json : types[format];
  return new ApiError('invalid_request', { message: `Send the body as ${wanted}.`, param: 'Content-Type' });
}
