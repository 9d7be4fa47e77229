import { compileSchema } from '../child/compile-schema.ts';
import {
  asSchema,
  type JsonSchema,
  type JsonSchemaOrFlag,
  listTypes,
  mergeSchemas,
  readDependentRequired,
  readPrefixItems,
  readRestItems,
  Unsatisfiable,
} from './json-schema.ts';
import { matchesPattern } from './matches-pattern.ts';
import { buildNumber } from './schema-number.ts';
import { makeFormatted, makePatterned } from './schema-string.ts';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Members = { [name: string]: Json };

/** A recursive schema is followed this deep; below, whatever may be left out is left out. */
const DEPTH_MAX = 6;
/** What a schema without any hint may be, as attempts go on. */
const UNHINTED_TYPES = ['string', 'integer', 'object', 'array', 'boolean', 'null'];
/** Choices (of anyOf, of enum, of optional members) tried before the last attempt stands. */
const ATTEMPTS_MAX = 24;
const VISITS_MAX = 100_000;
/** Characters of everything made, by all attempts together. */
const CHARS_MAX = 500_000;
const TIME_MAX_MS = 1_000;
const STRING_MIN_LENGTH_MAX = 100_000;
/** Keywords whose meaning a value built part by part can miss, so that the whole is checked. */
const NEEDS_CHECK =
  /"(oneOf|not|if|pattern|contains|dependentRequired|dependentSchemas|dependencies|allOf|uniqueItems|propertyNames|patternProperties|unevaluatedProperties|multipleOf)"/;

export interface InstanceOptions {
  /** Whether what is made is checked by the whole schema, and made otherwise where it does not pass. */
  readonly isChecked: boolean;
}

/**
 * A value that is valid by `schema` (JSON Schema, draft 7 and what 2020-12 added to structure), the same one for the same
 * arguments. Strings carry `text` where the schema leaves them free. Optional members are filled in.
 *
 * A schema that nothing satisfies, or one too intricate for the attempts and the time, gets the nearest value found. Only
 * the check by the whole schema has no bound of its own.
 */
export function makeInstance(
  schema: JsonSchemaOrFlag,
  text: string,
  { isChecked }: InstanceOptions = { isChecked: true },
): Json {
  const budget = { visits: VISITS_MAX, chars: CHARS_MAX, untilMs: performance.now() + TIME_MAX_MS };
  const build = (variant: number) => buildWhole(schema, text, variant, budget);
  const first = build(0);
  const source = JSON.stringify(schema);
  if (!isChecked || (first !== undefined && !NEEDS_CHECK.test(source))) return first === undefined ? {} : first;
  const compiled = typeof schema === 'boolean' ? undefined : compileSchema(source);
  if (compiled === undefined || 'problem' in compiled) return first === undefined ? {} : first;
  for (let variant = 0; variant < ATTEMPTS_MAX && performance.now() < budget.untilMs; variant++) {
    const value = build(variant);
    if (value !== undefined && isValid(compiled.validate, value)) return value;
  }
  return first === undefined ? {} : first;
}

/** A schema that refers to itself in many ways can take more of the stack than there is. */
function isValid(validate: (value: unknown) => boolean, value: Json): boolean {
  try {
    return validate(value);
  } catch {
    return false;
  }
}

/** What all attempts together may take: a small schema can describe more than any memory holds. */
interface Budget {
  visits: number;
  chars: number;
  readonly untilMs: number;
}

/** Undefined where nothing could be made: the schema is unsatisfiable, too large, or not even a schema. */
function buildWhole(schema: JsonSchemaOrFlag, text: string, variant: number, budget: Budget): Json | undefined {
  try {
    return new InstanceBuilder(schema, text, variant, budget).build(schema, 0, 0);
  } catch {
    // Keywords come unchecked from users: a `required` that is a number fails somewhere in here, and has no instance.
    return undefined;
  }
}

/** Ends the whole attempt, where `Unsatisfiable` ends one branch. */
class Exhausted extends Error {}

function tryBuild<T>(build: () => T): T | undefined {
  try {
    return build();
  } catch (error) {
    if (error instanceof Unsatisfiable) return undefined;
    throw error;
  }
}

class InstanceBuilder {
  readonly #root: JsonSchemaOrFlag;
  readonly #text: string;
  /** Which of several possible values is made: attempts of the same schema differ in it. */
  readonly #variant: number;
  readonly #budget: Budget;

  constructor(root: JsonSchemaOrFlag, text: string, variant: number, budget: Budget) {
    this.#root = root;
    this.#text = text;
    this.#variant = variant;
    this.#budget = budget;
  }

  /** `ordinal` sets the items of one array apart. */
  build(definition: JsonSchemaOrFlag, depth: number, ordinal: number): Json {
    this.#spend(0);
    if (definition === false) throw new Unsatisfiable();
    if (definition === true) return this.#spendText(this.#text);
    if (depth > DEPTH_MAX * 4) throw new Unsatisfiable();
    const schema = this.#flatten(definition, depth);
    if (schema.const !== undefined) return this.#copy(schema.const);
    if (Array.isArray(schema.enum)) return this.#pickEnum(schema, ordinal);
    const branches = schema.oneOf ?? schema.anyOf;
    if (branches !== undefined) return this.#buildBranch(schema, branches, depth, ordinal);
    switch (this.#pickType(schema)) {
      case 'object':
        return this.#buildObject(schema, depth);
      case 'array':
        return this.#buildArray(schema, depth);
      case 'string':
        return this.#spendText(this.#buildString(schema, ordinal));
      case 'number':
        return buildNumber(schema, ordinal, false);
      case 'integer':
        return buildNumber(schema, ordinal, true);
      case 'boolean':
        return ordinal % 2 === 0;
      default:
        return null;
    }
  }

  /** Takes one place and some characters from the budget. Throws where it is used up. */
  #spend(chars: number): void {
    this.#budget.visits -= 1;
    this.#budget.chars -= chars;
    const isUsedUp = this.#budget.visits < 0 || this.#budget.chars < 0;
    if (isUsedUp || performance.now() > this.#budget.untilMs) throw new Exhausted();
  }

  #spendText(text: string): string {
    this.#spend(text.length);
    return text;
  }

  /** A constant of the schema as a value of its own. */
  #copy(value: unknown): Json {
    const json = JSON.stringify(value);
    this.#spend(json.length);
    return JSON.parse(json);
  }

  /** Resolves references and joins allOf into one schema. */
  #flatten(schema: JsonSchema, depth: number): JsonSchema {
    this.#spend(0);
    let flat = schema;
    for (let hops = 0; flat.$ref !== undefined; hops++) {
      if (depth > DEPTH_MAX || hops > 32) throw new Unsatisfiable();
      const { $ref, ...beside } = flat;
      flat = mergeSchemas(asSchema(this.#resolve($ref)), beside);
    }
    if (flat.allOf !== undefined) {
      const { allOf, ...beside } = flat;
      flat = allOf.reduce<JsonSchema>(
        (joined, each) => mergeSchemas(joined, this.#flatten(asSchema(each), depth)),
        beside,
      );
    }
    return flat;
  }

  #resolve(ref: string): JsonSchemaOrFlag {
    if (!ref.startsWith('#')) throw new Unsatisfiable();
    let place: unknown = this.#root;
    for (const step of decodeURIComponent(ref.slice(1)).split('/').slice(1)) {
      const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof place !== 'object' || place === null || !Object.hasOwn(place, name)) throw new Unsatisfiable();
      place = Reflect.get(place, name);
    }
    return asSchema(place);
  }

  #pickEnum(schema: JsonSchema, ordinal: number): Json {
    const types = listTypes(schema);
    const allowed = (schema.enum ?? []).filter(
      (value) => types === undefined || types.some((type) => isOfType(value, type)),
    );
    if (allowed.length === 0) throw new Unsatisfiable();
    return this.#copy(allowed[(ordinal + this.#variant) % allowed.length]);
  }

  #buildBranch(schema: JsonSchema, branches: readonly JsonSchemaOrFlag[], depth: number, ordinal: number): Json {
    const { oneOf: _one, anyOf: _any, ...beside } = schema;
    for (let index = 0; index < branches.length; index++) {
      const branch = branches[(index + this.#variant) % branches.length];
      if (branch === undefined || branch === false) continue;
      const value = tryBuild(() => this.build(mergeSchemas(beside, asSchema(branch)), depth + 1, ordinal));
      if (value !== undefined) return value;
    }
    throw new Unsatisfiable();
  }

  #pickType(schema: JsonSchema): string {
    const types = listTypes(schema);
    if (types !== undefined) {
      // `null` beside another type only says that the member may be empty.
      const useful = types.filter((type) => type !== 'null');
      return useful[this.#variant % Math.max(1, useful.length)] ?? 'null';
    }
    if (schema.properties !== undefined || schema.required !== undefined || schema.minProperties !== undefined)
      return 'object';
    if (schema.additionalProperties !== undefined) return 'object';
    if (schema.items !== undefined || schema.minItems !== undefined || readPrefixItems(schema).length > 0)
      return 'array';
    if (schema.minimum !== undefined || schema.maximum !== undefined || schema.multipleOf !== undefined)
      return 'number';
    if (schema.exclusiveMinimum !== undefined || schema.exclusiveMaximum !== undefined) return 'number';
    return UNHINTED_TYPES[this.#variant % UNHINTED_TYPES.length] ?? 'string';
  }

  #buildObject(schema: JsonSchema, depth: number): Json {
    const made: Members = {};
    const properties = schema.properties ?? {};
    const required = new Set(schema.required ?? []);
    const room = schema.maxProperties ?? Number.POSITIVE_INFINITY;
    for (const name of required) setMember(made, name, this.build(this.#findMember(schema, name), depth + 1, 0));
    // Optional members are wanted, but not where they would make a recursive schema endless. Every second attempt does without.
    if (this.#variant % 2 === 0) {
      let count = Object.keys(made).length;
      for (const [name, member] of Object.entries(properties)) {
        if (required.has(name) || count >= room) continue;
        const value = depth >= DEPTH_MAX ? undefined : tryBuild(() => this.build(member, depth + 1, 0));
        if (value === undefined) continue;
        setMember(made, name, value);
        count += 1;
      }
    }
    for (const [name, names] of Object.entries(readDependentRequired(schema))) {
      if (!Object.hasOwn(made, name)) continue;
      for (const each of names)
        if (!Object.hasOwn(made, each)) setMember(made, each, this.build(this.#findMember(schema, each), depth + 1, 0));
    }
    for (let index = 1; Object.keys(made).length < (schema.minProperties ?? 0); index++) {
      const name = this.#nameFreeMember(schema, index);
      setMember(made, name, this.build(this.#findMember(schema, name), depth + 1, index));
      if (index > 1000) throw new Unsatisfiable();
    }
    return this.#reorder(made, properties);
  }

  /** Members in the order in which the schema lists them, as a person would write them. */
  #reorder(made: Members, properties: object): Members {
    const ordered: Members = {};
    for (const name of [...Object.keys(properties), ...Object.keys(made)]) {
      const value = Object.hasOwn(made, name) ? made[name] : undefined;
      if (value !== undefined) setMember(ordered, name, value);
    }
    return ordered;
  }

  #findMember(schema: JsonSchema, name: string): JsonSchemaOrFlag {
    const listed =
      schema.properties !== undefined && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    if (listed !== undefined) return listed;
    for (const [pattern, member] of Object.entries(schema.patternProperties ?? {})) {
      if (matchesPattern(pattern, name)) return member;
    }
    return schema.additionalProperties ?? true;
  }

  #nameFreeMember(schema: JsonSchema, index: number): string {
    const unused = Object.keys(schema.properties ?? {})[index - 1];
    if (unused !== undefined) return unused;
    const pattern = Object.keys(schema.patternProperties ?? {})[0];
    if (pattern !== undefined && schema.additionalProperties === false)
      return makePatterned(pattern, index) ?? `member_${index}`;
    const names = schema.propertyNames;
    if (names !== undefined && names !== true) {
      const name = this.build(mergeSchemas({ type: 'string' }, asSchema(names)), 1, index);
      if (typeof name === 'string') return name;
    }
    return `member_${index}`;
  }

  #buildArray(schema: JsonSchema, depth: number): Json {
    const prefix = readPrefixItems(schema);
    const rest = readRestItems(schema);
    const least = Math.max(schema.minItems ?? 0, schema.contains === undefined ? 0 : 1);
    const wanted = Math.min(
      Math.max(least, prefix.length, rest === false ? 0 : 1),
      schema.maxItems ?? Number.POSITIVE_INFINITY,
    );
    const made: Json[] = [];
    const seen = new Set<string>();
    for (let ordinal = 0; made.length < wanted && ordinal < wanted + 64; ordinal++) {
      const first = made.length === 0 && prefix.length === 0;
      const definition = prefix[made.length] ?? (first && schema.contains !== undefined ? schema.contains : rest);
      const value = tryBuild(() => {
        if (definition === false || (depth >= DEPTH_MAX && made.length >= least)) throw new Unsatisfiable();
        return this.build(definition, depth + 1, ordinal);
      });
      if (value === undefined) break;
      const key = JSON.stringify(value);
      if (schema.uniqueItems === true && seen.has(key)) continue;
      seen.add(key);
      made.push(value);
    }
    if (made.length < least) throw new Unsatisfiable();
    return made;
  }

  #buildString(schema: JsonSchema, ordinal: number): string {
    const least = schema.minLength ?? 0;
    const most = schema.maxLength ?? Number.POSITIVE_INFINITY;
    if (least > most || least > STRING_MIN_LENGTH_MAX) throw new Unsatisfiable();
    if (schema.format !== undefined) {
      const formatted = makeFormatted(schema.format, ordinal);
      if (formatted !== undefined) return formatted;
    }
    if (schema.pattern !== undefined) {
      const patterned = makePatterned(schema.pattern, ordinal + this.#variant, least);
      if (patterned === undefined) throw new Unsatisfiable();
      return patterned;
    }
    const suffix = ordinal === 0 ? '' : ` ${ordinal + 1}`;
    const points = [...this.#text];
    while (points.length + suffix.length < least)
      points.push(...(points.length === 0 ? ['x'] : [' ', ...points.slice(0, least)]));
    const room = Math.max(least, Math.min(most, Math.max(points.length, 0) + suffix.length));
    const text = points.slice(0, Math.max(0, room - suffix.length)).join('') + suffix;
    return [...text].slice(0, room).join('');
  }
}

function isOfType(value: unknown, type: string): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}

/** As an own member whatever its name: `__proto__` is one too. */
function setMember(target: Members, name: string, value: Json): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}
