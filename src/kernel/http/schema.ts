/** Schema pieces that every service uses. TypeBox builds JSON Schema, which is what validates, types and documents. */
import type { Static, TProperties, TSchema, TSchemaOptions, TUnsafe } from 'typebox';
import { Type } from './type-builder.ts';

const definition = Symbol('component definition');

/** A reference to a named component; carries its definition along without showing it to JSON. */
export type Component<T extends TSchema> = TUnsafe<Static<T>> & { readonly [definition]: { name: string; schema: T } };

/**
 * Names a schema, so that the OpenAPI document has it once under `components` and generated clients get a named type.
 * The name is unique within a service; `mountOperations` finds and registers every component that an operation uses.
 */
export function component<T extends TSchema>(name: string, schema: T): Component<T> {
  const reference = Type.Unsafe<Static<T>>({ $ref: `${name}#` });
  Object.defineProperty(reference, definition, { value: { name, schema }, enumerable: false });
  return reference as Component<T>;
}

/** One of several named objects, told apart by what their `type` says: a union that generated clients can switch on. */
export function unionByType(name: string, branches: Readonly<Record<string, TSchema>>, options: TSchemaOptions = {}) {
  const mapping = Object.entries(branches).map(([type, branch]) => {
    const named = componentOf(branch);
    if (named === undefined) throw new TypeError(`${name}: what has the type ${type} has no name`);
    return [type, `#/components/schemas/${named.name}`] as const;
  });
  const discriminator = { propertyName: 'type', mapping: Object.fromEntries(mapping) };
  return component(name, Type.Unsafe({ oneOf: [...new Set(Object.values(branches))], discriminator, ...options }));
}

/** The definition behind a reference made by `component`, if it is one. */
export function componentOf(schema: object): { name: string; schema: TSchema } | undefined {
  return (schema as Partial<Component<TSchema>>)[definition];
}

/** The properties of a component of object type, to build another from. */
export function propertiesOf<P extends TProperties>(ref: Component<ReturnType<typeof Type.Object<P>>>): P {
  return (ref[definition].schema as unknown as { properties: P }).properties;
}

/**
 * The schema or null. Primitive and object types become a type list rather than an `anyOf`: the serializer is several
 * times faster on it, and messages about bad input name one thing instead of two alternatives.
 */
export function nullable<T extends TSchema>(schema: T, options: TSchemaOptions = {}): TUnsafe<Static<T> | null> {
  const { type, ...rest } = schema as TSchema & { type?: string; enum?: unknown[] };
  if (typeof type !== 'string') return Type.Unsafe({ anyOf: [schema, { type: 'null' }], ...options });
  const values = (rest as { enum?: unknown[] }).enum;
  return Type.Unsafe({ ...rest, ...(values ? { enum: [...values, null] } : {}), type: [type, 'null'], ...options });
}

/** One of the given strings. */
export function oneOf<const V extends readonly string[]>(values: V, options: TSchemaOptions = {}): TUnsafe<V[number]> {
  return Type.Unsafe({ type: 'string', enum: [...values], ...options });
}

/** A JSON object with members of any kind. */
export function jsonObject(options: TSchemaOptions = {}): TUnsafe<Record<string, unknown>> {
  return Type.Unsafe({ type: 'object', additionalProperties: true, ...options });
}

/** The keyword of a value's largest size: bytes of its JSON in UTF-8. */
export const MAX_JSON_BYTES = 'x-max-json-bytes';

/** A JSON object with members of any kind, up to so many of them and so many bytes of JSON in UTF-8. */
export function boundedObject(
  { members, bytes }: { readonly members: number; readonly bytes: number },
  purpose = '',
): TUnsafe<Record<string, unknown>> {
  const description = `${purpose === '' ? '' : `${purpose} `}At most ${members} members, and ${bytes} bytes of JSON in UTF-8.`;
  return jsonObject({ maxProperties: members, [MAX_JSON_BYTES]: bytes, description });
}

const UNIX_SECONDS = '^\\d{1,11}$';

/** A moment in a query: an RFC 3339 timestamp, a date alone (its beginning in UTC) or Unix seconds. Read it with `readTimestamp`. */
export function moment(what: string): TUnsafe<string> {
  return Type.Unsafe({
    type: 'string',
    anyOf: [{ format: 'date-time' }, { format: 'date' }, { pattern: UNIX_SECONDS }],
    description:
      `${what}: RFC 3339, such as \`2026-05-01T00:00:00Z\` (percent-encode a \`+\`), a date alone, which is its ` +
      'beginning in UTC, or Unix seconds.',
  });
}

/**
 * The moment that a validated `moment` or `date-time` names. A leap second, which the format allows and JavaScript does not
 * know, is the second after it.
 */
export function readTimestamp(text: string): Date {
  if (new RegExp(UNIX_SECONDS).test(text)) return new Date(Number(text) * 1_000);
  const time = new Date(text);
  if (!Number.isNaN(time.getTime())) return time;
  return new Date(new Date(text.replace(/:60(?=[.Zz+-]|$)/, ':59')).getTime() + 1_000);
}

/** An ISO-8601 timestamp in a reply. */
export function timestamp(options: TSchemaOptions = {}): TUnsafe<string> {
  return Type.Unsafe({ type: 'string', format: 'date-time', ...options });
}

/** A request body or query: members that are not listed are refused in bodies, by name. */
export function closedObject<P extends TProperties>(properties: P, options: TSchemaOptions = {}) {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/** Which error code a violation of this schema answers with, instead of `invalid_request`. */
export function failsWith(code: string): { 'x-error-code': string } {
  return { 'x-error-code': code };
}

/** Which error code the absence of this required property answers with. */
export function missingFailsWith(code: string): { 'x-required-code': string } {
  return { 'x-required-code': code };
}
