/** The OpenAPI 3.1 document, made from the same schemas that validate. */
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import type { FastifyInstance, FastifySchema } from 'fastify';
import type { TSchema } from 'typebox';
import type { ErrorCatalogue, ErrorDialect } from './errors.ts';
import { MAX_KEY_LENGTH } from './idempotency.ts';
import type { Operation } from './operation.ts';
import { type ReadableDocument, sortForReading, type Topic, topicOf } from './reference-topics.ts';
import type { TextKind } from './reply.ts';
import { type BodyFormat, FORM_TYPE } from './request-body.ts';
import { componentOf } from './schema.ts';
import type { Upload } from './upload.ts';

interface DocumentOptions {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  /** Ends with `basePath`. */
  readonly publicUrl: string;
  /** What every path begins with, and the document leaves out: its server's address has it. */
  readonly basePath: string;
  readonly errorDialect: ErrorDialect;
  readonly operations: readonly Operation<never>[];
  readonly topics: readonly Topic[];
  /** What a bearer token looks like to who has to store it, as the document names it. */
  readonly bearerFormat: string;
}

/** Defines the document; serve-document.ts serves it. Call before mounting operations. */
export async function documentOperations(app: FastifyInstance, options: DocumentOptions): Promise<void> {
  app.addSchema({ ...options.errorDialect.schema, $id: 'Error' });
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
      components: {
        securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: options.bearerFormat } },
      },
    },
    refResolver: { buildLocalReference: (json, _base, _fragment, index) => String(json.$id ?? `def-${index}`) },
    hideUntagged: true,
    transformObject: (made) => {
      if (!('openapiObject' in made)) return made.swaggerObject;
      for (const operation of options.operations) {
        completeDescription(made.openapiObject, operation, options.basePath);
      }
      sortForReading(made.openapiObject as ReadableDocument, options);
      return made.openapiObject;
    },
  });
}

/** What the document says of an operation and the routes' schemas do not. */
function completeDescription(document: OpenApiObject, operation: Operation<never>, basePath: string): void {
  const described = document.paths?.[operation.path.slice(basePath.length)]?.[METHODS[operation.method]];
  if (described === undefined) return;
  if (described.requestBody !== undefined && 'content' in described.requestBody) {
    described.requestBody.required =
      operation.upload !== undefined || operation.bodyFormat === 'raw' || needsBody(operation.body);
  }
  if (operation.example !== undefined && described.requestBody !== undefined && 'content' in described.requestBody) {
    for (const media of Object.values(described.requestBody.content)) media.example = operation.example;
  }
  if (operation.idempotent) described.parameters = [...(described.parameters ?? []), IDEMPOTENCY_PARAMETER];
}

const METHODS = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'delete' } as const;

type OpenApiObject = Extract<
  Parameters<NonNullable<FastifyDynamicSwaggerOptions['transformObject']>>[0],
  { openapiObject: unknown }
>['openapiObject'];

const IDEMPOTENCY_PARAMETER = {
  in: 'header',
  name: 'Idempotency-Key',
  required: false,
  description: 'Repeats with the same key and the same request get the first answer again.',
  schema: { type: 'string', minLength: 1, maxLength: MAX_KEY_LENGTH, pattern: '^[\\x20-\\x7e]+$' },
} as const;

/** Whether a request without a body is refused: something in it is required. */
function needsBody(schema: object | undefined): boolean {
  if (schema === undefined) return false;
  const { required, anyOf } = (componentOf(schema)?.schema ?? schema) as { required?: string[]; anyOf?: object[] };
  return anyOf === undefined ? (required ?? []).length > 0 : anyOf.every((one) => needsBody(one));
}

/** The codes by which a service's own parts may refuse an operation. */
export interface Refusals {
  /** Before anything of the request is read. */
  readonly gate: readonly string[];
  /** Of `Idempotency-Key`. */
  readonly idempotency: readonly string[];
  /** The service's names of codes that the kernel throws, where they differ. */
  readonly names: Readonly<Record<string, string>>;
}

/** Fastify's schema of one operation. */
export function routeSchema(
  operation: Operation<unknown>,
  errors: ErrorCatalogue,
  refusals: Refusals,
  topics: readonly Topic[],
): FastifySchema {
  const { params, query } = operation;
  const body = bodySchema(operation);
  return {
    operationId: operation.id,
    summary: operation.summary,
    description: describe(operation),
    tags: [topicOf(operation.id, topics)],
    security: operation.posture === 'public' ? [] : [{ bearer: [] }],
    ...(params === undefined ? {} : { params }),
    ...(query === undefined ? {} : { querystring: query }),
    ...(body === undefined ? {} : { body }),
    ...(CONSUMES[operation.bodyFormat] === undefined ? {} : { consumes: CONSUMES[operation.bodyFormat] }),
    response: { ...successes(operation), ...failures(operation, errors, refusals) },
  } as FastifySchema;
}

function bodySchema({ body, bodyFormat, upload }: Operation<unknown>): object | undefined {
  if (upload !== undefined) return formSchema(upload);
  if (bodyFormat === 'raw') return { content: { '*/*': { schema: { type: 'string', format: 'binary' } } } };
  return body;
}

const CONSUMES: Readonly<Record<BodyFormat, readonly string[] | undefined>> = {
  json: undefined,
  form: [FORM_TYPE],
  'json or form': ['application/json', FORM_TYPE],
  raw: undefined,
  files: undefined,
};

/** A form: its fields, and the files among them. */
function formSchema({ fields, field, bareType, maxBytes, maxFiles = 1 }: Upload<unknown>): object {
  const schema = (componentOf(fields)?.schema ?? fields) as { properties?: object; required?: string[] };
  const one = { type: 'string', format: 'binary', description: `The content, at most ${maxBytes} bytes.` };
  const file = maxFiles === 1 ? one : { type: 'array', minItems: 1, maxItems: maxFiles, items: one };
  const form = {
    type: 'object',
    required: [field, ...(schema.required ?? [])],
    properties: { [field]: file, ...schema.properties },
  };
  const bare = bareType === undefined ? {} : { [bareType]: { schema: { type: 'string', format: 'binary' } } };
  return { content: { 'multipart/form-data': { schema: form }, ...bare } };
}

function describe(operation: Operation<unknown>): string {
  const lines = [operation.description ?? operation.summary];
  lines.push(
    operation.posture === 'public'
      ? 'Takes no token.'
      : `Who may call: ${operation.posture}.${operation.scope === undefined ? '' : ` Scope: \`${operation.scope.replaceAll('|', '` or `')}\`.`}`,
  );
  if (operation.idempotent) lines.push('Honours `Idempotency-Key`.');
  return lines.join('\n\n');
}

function successes(operation: Operation<unknown>): Record<number, unknown> {
  const { reply, streams, frames, answers } = operation;
  if (answers === 'bytes') return byteAnswers;
  if (operation.kind === 'socket') return { 101: { type: 'null', description: 'The connection is a WebSocket.' } };
  if (answers !== undefined) return textAnswers(operation, answers);
  const usual = operation.status ?? (reply === undefined ? 204 : 200);
  const statuses = [usual, ...(operation.alsoStatus ?? [])];
  const answer = reply === undefined ? { type: 'null', description: 'Done.' } : answerWith(reply, streams, frames);
  return Object.fromEntries(statuses.map((status) => [status, answer]));
}

const bytes = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } } as const;

/** The type is the content's own. */
const byteAnswers = {
  200: { description: 'The whole content.', content: bytes },
  206: { description: 'The range that `Range` asks for.', content: bytes },
  304: { type: 'null', description: 'The content is still the one that `If-None-Match` names.' },
} as const;

const TEXT_TYPES = {
  html: 'text/html',
  text: 'text/plain',
  xml: 'application/xml',
  protobuf: 'application/x-protobuf',
  rdap: 'application/rdap+json',
} as const;

/** The texts that the operation writes, beside its JSON where it has any. */
function textAnswers({ reply, status = 200 }: Operation<unknown>, kinds: readonly TextKind[]): Record<number, unknown> {
  const types = kinds.flatMap((kind) => (kind === 'redirect' ? [] : [TEXT_TYPES[kind]]));
  const content = {
    ...(reply === undefined ? {} : { 'application/json': { schema: reply } }),
    ...Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }])),
  };
  const location = { location: { type: 'string', description: 'Where to go on.' } };
  const onward = { type: 'null', description: 'Goes on elsewhere.', headers: location };
  return {
    ...(Object.keys(content).length === 0 ? {} : { [status]: { description: 'Success.', content } }),
    ...(kinds.includes('redirect') ? { 302: onward, 303: onward } : {}),
  };
}

function answerWith(
  reply: TSchema,
  streams: Operation<unknown>['streams'],
  frames: TSchema | undefined,
): Record<string, unknown> {
  if (streams === 'only') {
    return { description: 'Server-sent events.', content: { 'text/event-stream': { schema: reply } } };
  }
  return {
    description: 'Success.',
    content: {
      'application/json': { schema: reply },
      ...(streams === true ? { 'text/event-stream': { schema: frames ?? { type: 'string' } } } : {}),
    },
  };
}

function failures(
  operation: Operation<unknown>,
  errors: ErrorCatalogue,
  { gate, idempotency, names }: Refusals,
): Record<number, unknown> {
  const { path, params, query, body, bodyFormat, upload, idempotent } = operation;
  const codes = new Set([
    ...gate,
    'invalid_request',
    ...(path.includes('{') ? ['not_found'] : []),
    ...(body === undefined && bodyFormat === 'json' ? [] : ['payload_too_large']),
    ...(idempotent ? idempotency : []),
    ...[params, query, body, upload?.fields].flatMap((schema) => codesOf(schema)),
    ...(operation.errors ?? []),
    'rate_limit_exceeded',
    'internal_error',
    'service_overloaded',
    'storage_unavailable',
  ]);
  const dialect = operation.errorDialect;
  const { name, mediaType } = dialect ?? { name: 'Error', mediaType: 'application/json' };
  const byStatus = new Map<number, string[]>();
  for (const code of new Set([...codes].map((one) => names[one] ?? one))) {
    const entry = errors[code];
    if (entry === undefined) throw new Error(`${operation.id} names the unknown error code ${code}`);
    for (const status of [entry.status, entry.alsoStatus]) {
      if (status !== undefined) byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
    }
  }
  // Statuses that are HTTP's own, or a protocol's, and not the code's.
  for (const status of [operation.answers === 'bytes' ? 416 : undefined, dialect?.unreadableStatus]) {
    if (status === undefined) continue;
    byStatus.set(status, [...(byStatus.get(status) ?? []), names.invalid_request ?? 'invalid_request']);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, names]) => [
      status,
      {
        description: names.map((name) => `\`${name}\``).join(', '),
        content: { [mediaType]: { schema: { $ref: `${name}#` } } },
      },
    ]),
  );
}

/** The codes that violations of a schema answer with, where it names them. */
function codesOf(schema: unknown, seen = new Set<object>()): string[] {
  if (schema === null || typeof schema !== 'object') return [];
  const definition: object = componentOf(schema)?.schema ?? schema;
  if (seen.has(definition)) return [];
  seen.add(definition);
  return Object.entries(definition).flatMap(([name, member]: [string, unknown]) =>
    typeof member === 'string' && (name === 'x-error-code' || name === 'x-required-code')
      ? [member]
      : codesOf(member, seen),
  );
}
