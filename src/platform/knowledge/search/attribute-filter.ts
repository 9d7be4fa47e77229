/**
 * Filters on the attributes of files, as OpenAI's dialect has them. Comparisons are typed: a number compares with numbers
 * alone, a string with strings (by code point), a boolean is equal or not. Where an attribute is missing or of another
 * type, `ne` and `nin` hold and every other comparison does not.
 */
import { ApiError } from '../../../kernel/http/errors.ts';

export type FilterValue = string | number | boolean;

export type AttributeFilter =
  | { readonly type: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte'; readonly key: string; readonly value: FilterValue }
  | { readonly type: 'in' | 'nin'; readonly key: string; readonly value: readonly (string | number)[] }
  | { readonly type: 'and' | 'or'; readonly filters: readonly AttributeFilter[] };

/** A lone comparison is one deep, the comparisons of an `and` are two deep. */
export const MAX_FILTER_DEPTH = 8;
export const MAX_FILTER_COMPARISONS = 100;
export const MAX_FILTER_LIST = 1000;
const MAX_KEY_LENGTH = 64;

const types = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'and', 'or'] as const;
type FilterType = (typeof types)[number];

/**
 * Checks a filter that came from outside. `param` is where it stood in the request. Throws `invalid_request` naming the
 * member at fault, as in `filters.filters.0.value`. Members that no filter has are passed over.
 */
export function parseFilter(value: unknown, param: string): AttributeFilter {
  return parse(value, param, 1, { comparisons: 0 });
}

function parse(value: unknown, param: string, depth: number, count: { comparisons: number }): AttributeFilter {
  if (depth > MAX_FILTER_DEPTH) {
    throw invalid(param, `Filters nest at most ${MAX_FILTER_DEPTH} deep: flatten this one.`);
  }
  if (!isObject(value)) throw invalid(param, 'A filter is an object with a `type`.');
  const type = readType(value.type, `${param}.type`);
  if (type === 'and' || type === 'or') {
    const { filters } = value;
    if (!Array.isArray(filters) || filters.length === 0) {
      throw invalid(`${param}.filters`, `A filter of type "${type}" has \`filters\`, an array of at least one.`);
    }
    return { type, filters: filters.map((each, index) => parse(each, `${param}.filters.${index}`, depth + 1, count)) };
  }
  count.comparisons += 1;
  if (count.comparisons > MAX_FILTER_COMPARISONS) {
    throw invalid(param, `A filter holds at most ${MAX_FILTER_COMPARISONS} comparisons: use \`in\` for many values.`);
  }
  const key = readKey(value.key, `${param}.key`);
  switch (type) {
    case 'in':
    case 'nin':
      return { type, key, value: readList(value.value, `${param}.value`) };
    default:
      return { type, key, value: readValue(type, value.value, `${param}.value`) };
  }
}

function readType(value: unknown, param: string): FilterType {
  const type = types.find((each) => each === value);
  if (type === undefined) throw invalid(param, `The type of a filter is one of ${types.join(', ')}.`);
  return type;
}

function readKey(value: unknown, param: string): string {
  if (typeof value !== 'string' || value === '' || value.length > MAX_KEY_LENGTH) {
    throw invalid(param, `A comparison has a \`key\`, the name of an attribute: 1 to ${MAX_KEY_LENGTH} characters.`);
  }
  return value;
}

function readValue(type: FilterType, value: unknown, param: string): FilterValue {
  if (typeof value === 'string' || isNumber(value)) return value;
  if (typeof value !== 'boolean') {
    throw invalid(param, `The \`value\` of "${type}" is a string, a number or a boolean; for several use \`in\`.`);
  }
  if (type !== 'eq' && type !== 'ne')
    throw invalid(param, `"${type}" compares numbers or strings: booleans have no order.`);
  return value;
}

function readList(value: unknown, param: string): (string | number)[] {
  if (!Array.isArray(value)) throw invalid(param, 'The `value` of "in" and "nin" is an array of strings or numbers.');
  if (value.length > MAX_FILTER_LIST) throw invalid(param, `A list in a filter has at most ${MAX_FILTER_LIST} values.`);
  return value.map((item: unknown, index) => {
    if (typeof item === 'string' || isNumber(item)) return item;
    throw invalid(`${param}.${index}`, 'A list in a filter holds strings and numbers.');
  });
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(param: string, message: string): ApiError {
  return new ApiError('invalid_request', { param, message });
}
