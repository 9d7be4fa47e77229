/** What the built-in model knows of JSON Schema: the keywords it reads, and how two schemas are joined. */

/** The keywords that are read here, as they should be. Schemas come from users: a keyword may be of another type. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  multipleOf?: number;
  properties?: Record<string, JsonSchemaOrFlag>;
  patternProperties?: Record<string, JsonSchemaOrFlag>;
  additionalProperties?: JsonSchemaOrFlag;
  propertyNames?: JsonSchemaOrFlag;
  required?: string[];
  dependentRequired?: Record<string, string[]>;
  dependencies?: Record<string, JsonSchemaOrFlag | string[]>;
  minProperties?: number;
  maxProperties?: number;
  items?: JsonSchemaOrFlag | JsonSchemaOrFlag[];
  prefixItems?: JsonSchemaOrFlag[];
  additionalItems?: JsonSchemaOrFlag;
  contains?: JsonSchemaOrFlag;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  allOf?: JsonSchemaOrFlag[];
  anyOf?: JsonSchemaOrFlag[];
  oneOf?: JsonSchemaOrFlag[];
}

export type JsonSchemaOrFlag = JsonSchema | boolean;

/** No value can be made at this place; an optional member is then left out, and another branch tried. */
export class Unsatisfiable extends Error {}

/** Both schemas at once, as far as one object can say it; what the two say of the same keyword is narrowed. */
export function mergeSchemas(one: JsonSchema, other: JsonSchema): JsonSchema {
  const merged: JsonSchema = { ...one, ...other };
  if (one.properties !== undefined && other.properties !== undefined) {
    merged.properties = { ...one.properties };
    for (const [name, member] of Object.entries(other.properties)) {
      const present = one.properties[name];
      merged.properties[name] = present === undefined ? member : mergeSchemas(asSchema(present), asSchema(member));
    }
  }
  if (one.required !== undefined && other.required !== undefined)
    merged.required = [...new Set([...one.required, ...other.required])];
  if (one.enum !== undefined && other.enum !== undefined) {
    const kept = new Set(other.enum.map((each) => JSON.stringify(each)));
    merged.enum = one.enum.filter((each) => kept.has(JSON.stringify(each)));
  }
  for (const name of ['minimum', 'minLength', 'minItems', 'minProperties', 'exclusiveMinimum'] as const) {
    if (one[name] !== undefined && other[name] !== undefined) merged[name] = Math.max(one[name], other[name]);
  }
  for (const name of ['maximum', 'maxLength', 'maxItems', 'maxProperties', 'exclusiveMaximum'] as const) {
    if (one[name] !== undefined && other[name] !== undefined) merged[name] = Math.min(one[name], other[name]);
  }
  if (one.allOf !== undefined && other.allOf !== undefined) merged.allOf = [...one.allOf, ...other.allOf];
  const types = listTypes(other);
  const narrowed = types === undefined ? undefined : listTypes(one)?.filter((type) => types.includes(type));
  if (narrowed !== undefined && narrowed.length > 0) merged.type = narrowed;
  return merged;
}

export function listTypes(schema: JsonSchema): string[] | undefined {
  if (schema.type === undefined) return undefined;
  return Array.isArray(schema.type) ? schema.type : [schema.type];
}

export function asSchema(value: unknown): JsonSchema {
  if (value === false) throw new Unsatisfiable();
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

export function readPrefixItems(schema: JsonSchema): JsonSchemaOrFlag[] {
  const prefix = schema.prefixItems ?? schema.items;
  return Array.isArray(prefix) ? prefix : [];
}

export function readRestItems(schema: JsonSchema): JsonSchemaOrFlag {
  const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
  return rest === undefined || Array.isArray(rest) ? true : rest;
}

export function readDependentRequired(schema: JsonSchema): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const source of [schema.dependentRequired, schema.dependencies]) {
    for (const [name, names] of Object.entries(source ?? {})) if (Array.isArray(names)) found[name] = names;
  }
  return found;
}
