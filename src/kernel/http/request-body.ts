/**
 * What bodies an operation reads. Each format has routes of its own, whose parsers read nothing else:
 *
 *   json           application/json, or +json           default
 *   form           application/x-www-form-urlencoded    validated like JSON, text becoming what the schema names
 *   json or form   either                               one schema for both
 *   raw            anything                             the bytes as they came, before anything is parsed
 *   files          multipart/form-data                  see upload.ts
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { ApiError } from './errors.ts';
import { acceptJson, refusalOfEncoding } from './json-body.ts';
import { componentOf } from './schema.ts';
import { acceptFormsOnly } from './upload.ts';
import { refusalOf } from './validation.ts';

export type BodyFormat = 'json' | 'form' | 'json or form' | 'raw' | 'files';

export const FORM_TYPE = 'application/x-www-form-urlencoded';
/** Members of a form. */
const MAX_FORM_FIELDS = 1_000;

/** A body that nothing has parsed: what a signature was made over. */
export interface RawBody {
  readonly bytes: Buffer;
  /** As the sender wrote it; empty where it wrote none. */
  readonly contentType: string;
}

/** Makes this the only format that the routes of this scope read. */
export async function acceptBodies(app: FastifyInstance, format: BodyFormat): Promise<void> {
  if (format === 'files') return acceptFormsOnly(app);
  app.removeAllContentTypeParsers();
  if (format === 'raw') return acceptRaw(app);
  if (format !== 'form') acceptJson(app);
  if (format !== 'json') acceptUrlEncoded(app);
}

function acceptRaw(app: FastifyInstance): void {
  // A type that does not parse would be refused before any parser is asked, so the sender's own is put by meanwhile.
  app.addHook('onRequest', async (request) => {
    request.state.contentType = request.headers['content-type'];
    request.raw.headers['content-type'] = 'application/octet-stream';
  });
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes));
  app.addHook('preValidation', async (request) => {
    const { contentType } = request.state;
    if (contentType === undefined) delete request.raw.headers['content-type'];
    else request.raw.headers['content-type'] = contentType;
    const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    request.body = { bytes, contentType: contentType ?? '' } satisfies RawBody;
  });
}

function acceptUrlEncoded(app: FastifyInstance): void {
  app.addContentTypeParser<string>(FORM_TYPE, { parseAs: 'string' }, (request, text, done) => {
    const refusal = refusalOfEncoding(request);
    if (refusal !== undefined) return done(refusal);
    try {
      done(null, readForm(request, text));
    } catch (error) {
      done(error as Error);
    }
  });
}

/**
 * The form's members, their text turned into the types that the schema names. A member that is sent twice is refused
 * unless the schema has a list for it. Throws the refusal of a form that does not validate.
 */
function readForm(request: FastifyRequest, text: string): Record<string, unknown> {
  const schema = request.routeOptions.config.operation?.body;
  const body = parseForm(text, schema);
  if (schema === undefined) return body;
  const validate = request.compileValidationSchema(schema, 'querystring');
  if (!validate(body)) throw refusalOf(validate.errors as never, 'body');
  return body;
}

function parseForm(text: string, schema: TSchema | undefined): Record<string, unknown> {
  const body: Record<string, unknown> = Object.create(null);
  // Before it is taken apart, which millions of fields would take seconds for.
  if (hasMoreFields(text, MAX_FORM_FIELDS)) {
    throw new ApiError('invalid_request', { message: `The form has more than ${MAX_FORM_FIELDS} fields. Send fewer.` });
  }
  for (const [name, value] of new URLSearchParams(text)) {
    const known = body[name];
    if (Array.isArray(known)) known.push(value);
    else if (known !== undefined) {
      throw new ApiError('invalid_request', { param: name, message: `\`${name}\` is sent twice. Send it once.` });
    } else body[name] = isList(schema, name) ? [value] : value;
  }
  return body;
}

function hasMoreFields(text: string, limit: number): boolean {
  let fields = 1;
  for (let at = text.indexOf('&'); at >= 0 && fields <= limit; at = text.indexOf('&', at + 1)) fields += 1;
  return fields > limit;
}

function isList(schema: TSchema | undefined, name: string): boolean {
  if (schema === undefined) return false;
  const { properties = {} } = (componentOf(schema)?.schema ?? schema) as {
    properties?: Record<string, { type?: string | string[] }>;
  };
  if (!Object.hasOwn(properties, name)) return false;
  return [properties[name]?.type].flat().includes('array');
}
