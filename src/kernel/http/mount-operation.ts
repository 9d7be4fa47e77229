/** An operation as a route: its path as the router wants it, its schemas, and its handler behind them. */
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  FastifySchemaCompiler,
  RouteOptions,
} from 'fastify';
import type { TSchema } from 'typebox';
import { ApiError, type ErrorCatalogue, type ErrorDialect } from './errors.ts';
import { routeSchema } from './openapi.ts';
import type { Operation, OperationFacts } from './operation.ts';
import type { Topic } from './reference-topics.ts';
import { type RunOptions, runOperation, runSocket } from './run-operation.ts';
import type { Sockets } from './serve-sockets.ts';

export interface MountOptions<Caller> extends RunOptions<Caller> {
  readonly errors: ErrorCatalogue;
  readonly errorDialect: ErrorDialect;
  /** The codes of the kernel's own checks, see service.ts. */
  readonly kernelRefusals: readonly string[];
  /** The codes that the gate may refuse an operation with, for its description. */
  readonly gate: RunOptions<Caller>['gate'] & { refusalsOf(operation: OperationFacts): readonly string[] };
  readonly sockets: Sockets;
  readonly topics: readonly Topic[];
}

/** Adds the operation's route. Throws when its description names an error code that the catalogue lacks. */
export function mountOperation<Caller>(
  app: FastifyInstance,
  operation: Operation<Caller>,
  options: MountOptions<Caller>,
): void {
  const refusals = {
    gate: [...options.kernelRefusals, ...options.gate.refusalsOf(operation)],
    idempotency: options.idempotency.refusals,
    names: options.errorDialect.names,
  };
  const bareType = operation.upload?.bareType;
  // Whoever reads the file reads the body.
  if (bareType !== undefined && !app.hasContentTypeParser(bareType)) {
    app.addContentTypeParser(bareType, (_request, _body, done) => done(null));
  }
  const route = {
    method: operation.method,
    url: fastifyPath(operation.path),
    config: { operation: operation as Operation<unknown> },
    schema: routeSchema(operation as Operation<unknown>, options.errors, refusals, options.topics),
    // No body says as much as an empty one; the validation then names what is missing.
    preValidation: async (request: FastifyRequest) => {
      if (operation.body !== undefined && request.body === undefined) request.body = {};
    },
    handler: handlerOf(operation, options),
    ...(operation.bodyFormat === 'raw' || operation.bodyFormat === 'files'
      ? { validatorCompiler: leaveBody(app, operation.upload?.fields) }
      : {}),
    ...(operation.maxBodyBytes === undefined ? {} : { bodyLimit: operation.maxBodyBytes }),
  };
  app.route(route);
  if (operation.restOfPath === true) mountRestOfPath(app, route);
  if (operation.isOnlyMethod === true) refuseOtherMethods(app, operation, route.url);
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Without looking at a token or a body: who asks is told how to ask. */
function refuseOtherMethods<Caller>(app: FastifyInstance, { method }: Operation<Caller>, url: string): void {
  app.route({
    method: METHODS.filter((other) => other !== method),
    url,
    schema: { hide: true },
    onRequest: async () => {
      throw new ApiError('invalid_request', {
        status: 405,
        headers: { allow: method },
        message: `Only ${method} leads anywhere here. Send the request with ${method}.`,
      });
    },
    handler: async () => {},
  });
}

function handlerOf<Caller>(operation: Operation<Caller>, options: MountOptions<Caller>) {
  const { socket } = operation;
  if (socket === undefined) {
    return (request: FastifyRequest, reply: FastifyReply) => runOperation(request, reply, operation, options);
  }
  const open = options.sockets.opener(socket);
  return (request: FastifyRequest, reply: FastifyReply) => runSocket(request, reply, operation, options, open);
}

/**
 * Validates everything but the body: whoever reads files has the `fields` beside them validated once they are there, and raw
 * bytes have no schema.
 */
function leaveBody(app: FastifyInstance, fields: TSchema | undefined): FastifySchemaCompiler<FastifySchema> {
  const compile = app.validatorCompiler;
  if (compile === undefined) throw new Error('set the validator compiler before operations are mounted');
  return (route) => (route.httpPart === 'body' && route.schema !== fields ? () => true : compile(route));
}

/** The router ends a parameter at a slash: an id with one is caught by a wildcard, which the documentation leaves out. */
function mountRestOfPath(app: FastifyInstance, route: RouteOptions): void {
  const [, prefix = '', name = ''] = /^(.*):(\w+)$/.exec(route.url) ?? [];
  app.route({
    ...route,
    url: `${prefix}*`,
    schema: { ...route.schema, hide: true },
    onRequest: async (request) => {
      request.params = { [name]: (request.params as { '*': string })['*'] };
    },
  });
}

/** `/v1/smiths/{sid}` → `/v1/smiths/:sid`; a literal colon is doubled, as the router wants it. */
function fastifyPath(path: string): string {
  return path.replaceAll(':', '::').replaceAll(/\{(\w+)\}/g, ':$1');
}
