/** Turns a schema violation into an error that names the field and says what would be right. */
import { createRequire } from 'node:module';
import type { SchemaValidateFunction } from 'ajv';
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import type { TSchema } from 'typebox';
import {
  createDeferredCompiler,
  type DeferredCompiler,
  once,
  onceForComponents,
  onceForSchema,
} from './deferred-compiler.ts';
import { ApiError } from './errors.ts';
import { jsonBytes } from './json-size.ts';
import { MAX_JSON_BYTES } from './schema.ts';

const require = createRequire(import.meta.url);
/** Loaded for the first validator that is compiled: a hundred modules, which a start does without. */
const loadAjv = once(() => ({
  ...(require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')),
  addFormats: (require('ajv-formats') as typeof import('ajv-formats')).default,
}));

export type RequestPart = 'body' | 'params' | 'querystring' | 'headers';

type AnnotatedSchema = {
  'x-error-code'?: string;
  'x-required-code'?: string;
  properties?: Record<string, AnnotatedSchema>;
  enum?: unknown[];
};

/**
 * Makes validators of request schemas. Bodies are taken as they are: "5" is not a number. Paths and queries are text, so
 * there text becomes the type that the schema names. A schema is compiled, and refused if it is faulty, when its validator
 * is first called.
 */
export function createValidators(
  components: ReadonlyMap<string, TSchema>,
  compiler: DeferredCompiler = createDeferredCompiler(),
) {
  const shared = once(() => openValidators(components));
  return {
    compile(part: RequestPart, schema: TSchema): Validator {
      const compiled = compiler.defer<Validator>(() => shared()[part === 'body' ? 'ofBody' : 'ofText'](schema));
      const validator: Validator = (data) => {
        const validate = compiled();
        const isValid = validate(data);
        validator.errors = validate.errors ?? null;
        return isValid;
      };
      return validator;
    },
  };
}

/** The compiled validators of all services with these components, by the text of their schemas. */
const openValidators = onceForComponents((components) => {
  const bodies = once(() => createAjv(components, { coerceTypes: false }));
  const text = once(() => createAjv(components, { coerceTypes: true }));
  return {
    ofBody: onceForSchema<Validator>((schema) => bodies().compile<unknown>(schema)),
    ofText: onceForSchema<Validator>((schema) => refuseInfinity(text().compile(schema))),
  };
});

function createAjv(components: ReadonlyMap<string, TSchema>, { coerceTypes }: { readonly coerceTypes: boolean }) {
  const { Ajv2020, addFormats } = loadAjv();
  const ajv = new Ajv2020({
    allErrors: false,
    verbose: true,
    useDefaults: true,
    // They are the program's own, and a test holds them against the metaschema, which takes longer than all the rest.
    validateSchema: false,
    strict: true,
    strictTypes: false,
    strictRequired: false,
    discriminator: true,
    keywords: ['x-error-code', 'x-required-code', 'example'],
    coerceTypes,
  });
  addFormats(ajv);
  ajv.addKeyword({ keyword: MAX_JSON_BYTES, schemaType: 'number', errors: true, validate: isWithinBytes });
  for (const [name, schema] of components) ajv.addSchema({ ...schema, $id: name }, name);
  return ajv;
}

const isWithinBytes: SchemaValidateFunction = (limit: number, data: unknown): boolean => {
  if (jsonBytes(data, limit) <= limit) return true;
  isWithinBytes.errors = [{ keyword: MAX_JSON_BYTES, params: { limit } }];
  return false;
};

/** As Ajv compiles it: `errors` has the first violation after a call that returned false. */
export interface Validator {
  (data: unknown): boolean;
  errors?: ErrorObject[] | null;
}

/** Ajv takes `1e400` and `Infinity` for numbers when it reads them out of text, and compares them with no bound. */
function refuseInfinity(validate: ValidateFunction): Validator {
  const validator: Validator = (data) => {
    const isValid = validate(data);
    validator.errors = validate.errors ?? null;
    if (!isValid) return false;
    for (const [name, value] of Object.entries(data as Record<string, unknown>)) {
      if (typeof value !== 'number' || Number.isFinite(value)) continue;
      const { properties } = validate.schema as { properties?: Record<string, AnnotatedSchema> };
      const parentSchema = properties?.[name] ?? {};
      const params = { type: 'a finite number' };
      validator.errors = [{ keyword: 'type', instancePath: `/${name}`, schemaPath: '', params, parentSchema }];
      return false;
    }
    return true;
  };
  return validator;
}

/** The refusal for the first violation found. */
export function refusalOf(errors: readonly ErrorObject[] | null | undefined, part: RequestPart): ApiError {
  const error = errors?.[0];
  if (!error) return new ApiError('invalid_request');
  const path = error.instancePath.split('/').slice(1).map(unescapePointer);
  const parent = (error.parentSchema ?? {}) as AnnotatedSchema;
  switch (error.keyword) {
    case 'required': {
      const name = String(error.params.missingProperty);
      const code = parent.properties?.[name]?.['x-required-code'] ?? 'invalid_request';
      const param = [...path, name].join('.');
      return new ApiError(code, { param, message: `\`${param}\` is required.` });
    }
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const name = String(error.params.additionalProperty ?? error.params.unevaluatedProperty);
      const param = [...path, name].join('.');
      const known = Object.keys(parent.properties ?? {});
      const hint = known.length > 0 ? ` Known here: ${known.slice(0, 30).join(', ')}.` : '';
      return new ApiError('invalid_request', { param, message: `\`${param}\` is not a known member.${hint}` });
    }
    default: {
      const param = path.join('.');
      const where = param === '' ? `The ${partNames[part]}` : `\`${param}\``;
      return new ApiError(parent['x-error-code'] ?? 'invalid_request', {
        ...(param === '' ? {} : { param }),
        message: `${where} ${sayWhatWouldBeRight(error)}.`,
      });
    }
  }
}

const partNames: Record<RequestPart, string> = {
  body: 'request body',
  params: 'path',
  querystring: 'query',
  headers: 'headers',
};

function sayWhatWouldBeRight(error: ErrorObject): string {
  const limit = error.params.limit as number | undefined;
  switch (error.keyword) {
    case 'enum':
      return `must be one of ${((error.schema as unknown[]) ?? []).map((value) => JSON.stringify(value)).join(', ')}`;
    case 'type':
      return `must be ${[error.params.type].flat().join(' or ')}`;
    case 'minLength':
      return limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`;
    case 'maxLength':
      return `must have at most ${limit} characters`;
    case MAX_JSON_BYTES:
      return `must have at most ${limit} bytes of JSON in UTF-8`;
    case 'maxProperties':
      return `must have at most ${limit} members`;
    default:
      return error.message ?? 'is not valid';
  }
}

function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}
