/**
 * Validators for JSON Schemas that callers bring. Their regular expressions run on an engine whose time is linear in the
 * text: one hostile `pattern` would otherwise stop the process for everybody.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import type { JsonObject } from '../tables.ts';
import type { ResponseFormat } from './turn.ts';

/** Throws for what is no JSON Schema, or has a pattern that needs backtracking. */
export function compileAnswerSchema(schema: JsonObject): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, code: { regExp: linearRegExp } });
  return ajv.compile(schema);
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
