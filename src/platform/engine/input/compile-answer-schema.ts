/**
 * Validators for JSON Schemas that callers bring. Their regular expressions run on an engine whose time is linear in the
 * text: one hostile `pattern` would otherwise stop the process for everybody.
 */
import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { LRUCache } from 'lru-cache';
import { RE2JS } from 're2js';
import type { JsonObject } from '../../tables.ts';
import type { ResponseFormat } from '../turn.ts';

/**
 * Compiling takes up to a millisecond an object of the schema, and more than in proportion for long lists of
 * alternatives; meanwhile the process does nothing else.
 */
const MAX_OBJECTS = 1_000;
const MAX_ALTERNATIVES = 200;
const MAX_DEPTH = 100;
/** Validators that are kept: callers send the same few schemas again and again. */
const MAX_KEPT = 64;

const kept = new LRUCache<string, ValidateFunction>({ max: MAX_KEPT });

/** Throws for what is no JSON Schema, is too large, or has a pattern that needs backtracking. */
export function compileAnswerSchema(schema: JsonObject): ValidateFunction {
  const key = JSON.stringify(schema);
  const known = kept.get(key);
  if (known !== undefined) return known;
  const validate = compile(schema);
  kept.set(key, validate);
  return validate;
}

/** Libraries of draft 7 name it in `$schema`; everything else is taken as 2020-12, which `$schema` need not say. */
function compile({ $schema: dialect, ...schema }: JsonObject): ValidateFunction {
  checkSize(schema);
  const compiler = typeof dialect === 'string' && /draft-0[4-7]/.test(dialect) ? draft7() : draft2020();
  try {
    return compiler.compile(schema);
  } finally {
    compiler.removeSchema(schema);
  }
}

/** One compiler for all: to make one takes longer than most schemas. None sees the schemas of others. */
const options = {
  strict: false,
  validateFormats: false,
  logger: false,
  addUsedSchema: false,
  code: { regExp: linearRegExp },
} as const;
const draft7 = once(() => new Ajv(options));
const draft2020 = once(() => new Ajv2020(options));

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

function checkSize(schema: unknown): void {
  let objects = 0;
  const visit = (value: unknown, depth: number): void => {
    if (value === null || typeof value !== 'object') return;
    objects += 1;
    if (objects > MAX_OBJECTS) throw new Error(`it has more than ${MAX_OBJECTS} parts`);
    if (depth > MAX_DEPTH) throw new Error(`it is nested more than ${MAX_DEPTH} deep`);
    for (const [name, member] of Object.entries(value)) {
      const isChoice = name === 'anyOf' || name === 'oneOf' || name === 'allOf';
      if (isChoice && Array.isArray(member) && member.length > MAX_ALTERNATIVES) {
        throw new Error(`${name} has more than ${MAX_ALTERNATIVES} members; use enum for plain values`);
      }
      visit(member, depth + 1);
    }
  };
  visit(schema, 0);
}

/** What keeps the text from being an answer of the format, in words; undefined when nothing does. */
export function findAnswerProblem(text: string, format: ResponseFormat): string | undefined {
  if (format.type === 'text') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'it is not JSON';
  }
  if (format.schema === undefined) return undefined;
  const validate = compileAnswerSchema(format.schema);
  if (validate(value)) return undefined;
  const [error] = validate.errors ?? [];
  return `answer${error?.instancePath.replaceAll('/', '.') ?? ''} ${error?.message ?? 'is not valid'}`;
}

/** Ajv tells expressions apart by their text, so each must have one. */
function linearRegExp(pattern: string): { test: (text: string) => boolean; toString: () => string } {
  const compiled = RE2JS.compile(pattern);
  return { test: (text) => compiled.matcher(text).find(), toString: () => pattern };
}
linearRegExp.code = 'linearRegExp';
