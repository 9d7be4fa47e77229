/** `response_format` of chat completions, `text.format` of responses: both spellings of one thing. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { type ForeignSchemas, showPointer } from '../../schemas/index.ts';
import type { JsonObject } from '../../tables.ts';
import type { ResponseFormat } from '../turn.ts';

/** Whose format it is, and the member that it came in. */
export interface FormatSource {
  readonly schemas: ForeignSchemas;
  readonly projectId: string;
  readonly param: string;
}

/** Throws `invalid_response_format`, and `service_overloaded` where a schema cannot be checked. */
export async function parseResponseFormat(
  format: JsonObject | null | undefined,
  source: FormatSource,
): Promise<ResponseFormat> {
  switch (format?.type) {
    case undefined:
      if (format !== null && format !== undefined) {
        throw invalid(source, 'needs a type: text, json_object or json_schema');
      }
      return { type: 'text' };
    case 'text':
      return { type: 'text' };
    case 'json_object':
      return { type: 'json' };
    case 'json_schema':
      return parseSchema(isObject(format.json_schema) ? format.json_schema : format, source);
    default:
      throw invalid(source, 'has an unknown type; use text, json_object or json_schema');
  }
}

async function parseSchema({ schema, name }: JsonObject, source: FormatSource): Promise<ResponseFormat> {
  if (!isObject(schema)) throw invalid(source, 'of type json_schema needs `json_schema.schema`, an object');
  const found = await source.schemas.findProblem(source.projectId, schema);
  if (found !== undefined) throw invalid(source, `has a schema ${found.problem}, ${showPointer(found.pointer)}`);
  return { type: 'json', schema, ...(typeof name === 'string' ? { name } : {}) };
}

function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function invalid({ param }: FormatSource, problem: string): ApiError {
  return new ApiError('invalid_response_format', { param, message: `\`${param}\` ${problem}.` });
}
