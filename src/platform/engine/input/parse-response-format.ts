/** `response_format` of chat completions, `text.format` of responses: both spellings of one thing. */
import { ApiError } from '../../../kernel/http/errors.ts';
import type { JsonObject } from '../../tables.ts';
import type { ResponseFormat } from '../turn.ts';
import { compileAnswerSchema } from './compile-answer-schema.ts';

/** Characters of a schema as JSON. */
const MAX_SCHEMA_LENGTH = 100_000;

/** Throws `invalid_response_format`. */
export function parseResponseFormat(format: JsonObject | null | undefined): ResponseFormat {
  switch (format?.type) {
    case undefined:
      if (format !== null && format !== undefined) throw invalid('needs a type: text, json_object or json_schema');
      return { type: 'text' };
    case 'text':
      return { type: 'text' };
    case 'json_object':
      return { type: 'json' };
    case 'json_schema':
      return parseSchema(isObject(format.json_schema) ? format.json_schema : format);
    default:
      throw invalid('has an unknown type; use text, json_object or json_schema');
  }
}

function parseSchema({ schema, name }: JsonObject): ResponseFormat {
  if (!isObject(schema)) throw invalid('of type json_schema needs `json_schema.schema`, an object');
  if (JSON.stringify(schema).length > MAX_SCHEMA_LENGTH) {
    throw invalid(`has a schema of more than ${MAX_SCHEMA_LENGTH} characters`);
  }
  try {
    compileAnswerSchema(schema);
  } catch (error) {
    throw invalid(`has a schema that is no JSON Schema: ${error instanceof Error ? error.message : 'unreadable'}`);
  }
  return { type: 'json', schema, ...(typeof name === 'string' ? { name } : {}) };
}

function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function invalid(problem: string): ApiError {
  return new ApiError('invalid_response_format', {
    param: 'response_format',
    message: `\`response_format\` ${problem}.`,
  });
}
