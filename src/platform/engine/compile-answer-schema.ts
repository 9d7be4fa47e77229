/**
 * Validators for JSON Schemas that callers bring. Their regular expressions run on an engine whose time is linear in the
 * text: one hostile `pattern` would otherwise stop the process for everybody.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import type { JsonObject } from '../tables.ts';

/** Throws for what is no JSON Schema, or has a pattern that needs backtracking. */
export function compileAnswerSchema(schema: JsonObject): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, code: { regExp: linearRegExp } });
  return ajv.compile(schema);
}

/** What is wrong with the value, in words; undefined when it is valid. */
export function describeViolation(validate: ValidateFunction, value: unknown): string | undefined {
  if (validate(value)) return undefined;
  const [error] = validate.errors ?? [];
  return `answer${error?.instancePath.replaceAll('/', '.') ?? ''} ${error?.message ?? 'is not valid'}`;
}

function linearRegExp(pattern: string): { test: (text: string) => boolean } {
  const compiled = RE2JS.compile(pattern);
  return { test: (text) => compiled.matcher(text).find() };
}
linearRegExp.code = 'linearRegExp';
