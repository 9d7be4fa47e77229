/** The OpenAPI 3.1 document, made from the same schemas that validate. */
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance, FastifySchema } from 'fastify';
import type { ErrorCatalogue } from './errors.ts';
import type { Operation } from './operation.ts';

interface DocumentOptions {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly publicUrl: string;
}

/** Serves `/openapi.json` and `/docs`. Call before mounting operations. */
export async function documentOperations(app: FastifyInstance, options: DocumentOptions): Promise<void> {
  app.addSchema(errorSchema);
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: options.title,
        version: options.version,
        description: options.description,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: options.publicUrl }],
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } } },
    },
    refResolver: { buildLocalReference: (json, _base, _fragment, index) => String(json.$id ?? `def-${index}`) },
    hideUntagged: true,
  });
  app.get('/openapi.json', { logLevel: 'silent' }, async (_request, reply) => reply.send(app.swagger()));
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    uiConfig: { tryItOutEnabled: true, persistAuthorization: true },
  });
}

const errorSchema = {
  $id: 'Error',
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
} as const;

/** Fastify's schema of one operation. */
export function routeSchema(operation: Operation<unknown>, errors: ErrorCatalogue): FastifySchema {
  const { params, query, body } = operation;
  return {
    operationId: operation.id,
    summary: operation.summary,
    description: describe(operation),
    tags: [operation.id.split('.').slice(0, -1).join('.') || operation.id],
    security: operation.posture === 'public' ? [] : [{ bearer: [] }],
    ...(params === undefined ? {} : { params }),
    ...(query === undefined ? {} : { querystring: query }),
    ...(body === undefined ? {} : { body }),
    response: { ...successes(operation), ...failures(operation, errors) },
  } as FastifySchema;
}

function describe(operation: Operation<unknown>): string {
  const lines = [operation.description ?? operation.summary];
  lines.push(
    operation.posture === 'public'
      ? 'Takes no token.'
      : `Who may call: ${operation.posture}.${operation.scope === undefined ? '' : ` Scope: \`${operation.scope}\`.`}`,
  );
  if (operation.idempotent) lines.push('Honours `Idempotency-Key`.');
  return lines.join('\n\n');
}

function successes(operation: Operation<unknown>): Record<number, unknown> {
  const { reply } = operation;
  const usual = operation.status ?? (reply === undefined ? 204 : 200);
  const statuses = [usual, ...(operation.alsoStatus ?? [])];
  const answer =
    reply === undefined
      ? { type: 'null', description: 'Done.' }
      : {
          description: 'Success.',
          content: {
            'application/json': { schema: reply },
            ...(operation.streams ? { 'text/event-stream': { schema: { type: 'string' } } } : {}),
          },
        };
  return Object.fromEntries(statuses.map((status) => [status, answer]));
}

function failures(operation: Operation<unknown>, errors: ErrorCatalogue): Record<number, unknown> {
  const codes = [
    ...(operation.posture === 'public' ? [] : ['unauthenticated', 'insufficient_scope']),
    'invalid_request',
    ...(operation.path.includes('{') ? ['not_found'] : []),
    'rate_limit_exceeded',
    'service_overloaded',
    ...(operation.errors ?? []),
  ];
  const byStatus = new Map<number, string[]>();
  for (const code of codes) {
    const status = errors[code]?.status;
    if (status === undefined) throw new Error(`${operation.id} names the unknown error code ${code}`);
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, names]) => [
      status,
      {
        description: [...new Set(names)].map((name) => `\`${name}\``).join(', '),
        content: { 'application/json': { schema: { $ref: 'Error#' } } },
      },
    ]),
  );
}
