/** Members of JSON that somebody else wrote: what is not there, or of another type, is as if it were empty. */
import type { JsonObject } from '../../tables.ts';

export function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

export function objectAt(value: unknown, name: string): JsonObject {
  const object = asObject(value);
  return Object.hasOwn(object, name) ? asObject(object[name]) : {};
}

/** Its objects; what else is in the list is left out. */
export function objectsAt(value: unknown, name: string): readonly JsonObject[] {
  const object = asObject(value);
  const list: unknown = Object.hasOwn(object, name) ? object[name] : undefined;
  if (!Array.isArray(list)) return [];
  return list.filter((item) => typeof item === 'object' && item !== null && !Array.isArray(item));
}

/** Undefined for the empty text too. */
export function textAt(value: unknown, name: string): string | undefined {
  const object = asObject(value);
  const text: unknown = Object.hasOwn(object, name) ? object[name] : undefined;
  return typeof text === 'string' && text !== '' ? text : undefined;
}
