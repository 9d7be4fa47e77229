/**
 * TypeBox's types over builders of our own. The ten that the services use are an object literal each; TypeBox itself is 540 modules to
 * load for them, a tenth of a start. What they make is what TypeBox makes, to the order of the members.
 */
import type * as TypeBox from 'typebox';
import type { TProperties, TSchema } from 'typebox';

type Builder = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'String'
  | 'Union'
  | 'Unsafe'
>;

/** By a symbol, which neither JSON nor Ajv sees, and not enumerable, so that no schema made of this one's members has it. */
const optional = Symbol('optional member');

export const Type: Builder = {
  Array: (items, options) => make({ type: 'array', items, ...options }),
  Boolean: (options) => make({ type: 'boolean', ...options }),
  Integer: (options) => make({ type: 'integer', ...options }),
  Literal: (value, options) => make({ type: typeof value, const: value, ...options }),
  Null: (options) => make({ type: 'null', ...options }),
  Number: (options) => make({ type: 'number', ...options }),
  Object: (properties, options) => make({ type: 'object', ...requiredOf(properties), properties, ...options }),
  Optional: (schema) => make(Object.defineProperty(copy(schema), optional, { value: true })),
  String: (options) => make({ type: 'string', ...options }),
  Union: (branches, options) => make({ anyOf: branches, ...options }),
  Unsafe: (schema) => make(copy(schema)),
};

function requiredOf(properties: TProperties): { readonly required?: readonly string[] } {
  const required = Object.entries(properties).flatMap(([name, schema]) => (optional in schema ? [] : [name]));
  return required.length === 0 ? {} : { required };
}

/** With what is not enumerable: the definition behind a component's reference is not. */
function copy(schema: TSchema): object {
  return Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema));
}

/** TypeBox's types say what a schema stands for, in members that are there for the compiler alone. */
function make<Schema>(schema: object): Schema {
  return schema as Schema;
}
