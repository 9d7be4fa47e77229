/**
 * The limits of a foreign schema, checked before anything else is done with it. Synchronous, in time that is linear in the
 * schema's size; nothing here recurses, and nothing is compiled.
 */
import type { JsonObject } from '../tables.ts';
import { findRepeatedApplication } from './applied-subschemas.ts';
import { estimateStates } from './pattern-states.ts';
import { findSchemaNodes, type SchemaNode } from './schema-graph.ts';
import { requestLimits, schemaLimits } from './schema-limits.ts';
import { Place, type SchemaProblem } from './schema-problem.ts';

/** What several schemas of one request hold together. */
export interface SchemaTotals {
  bytes: number;
  parts: number;
}

/** The schema as JSON, or why it is not taken. `totals` is added to, and checked against the limits of a request. */
export function admitSchema(
  schema: JsonObject,
  totals?: SchemaTotals,
): { readonly json: string } | { readonly problem: SchemaProblem } {
  const size = measure(schema);
  if ('problem' in size) return { problem: size };
  const problem = checkTotals(size, totals) ?? checkNodes(schema);
  return problem === undefined ? { json: size.json } : { problem };
}

function checkNodes(schema: JsonObject): SchemaProblem | undefined {
  const nodes = findSchemaNodes(schema);
  return checkKeywords(nodes) ?? findRepeatedApplication(nodes);
}

function checkTotals(size: SchemaTotals, totals: SchemaTotals | undefined): SchemaProblem | undefined {
  if (totals === undefined) return undefined;
  totals.bytes += size.bytes;
  totals.parts += size.parts;
  const { bytes, parts } = requestLimits;
  if (totals.bytes > bytes)
    return { pointer: '', problem: `that brings all of the request to more than ${bytes} bytes` };
  if (totals.parts > parts) {
    return { pointer: '', problem: `that brings all of the request to more than ${parts} objects and lists` };
  }
  return undefined;
}

/** The size of the schema as JSON, whatever its members mean. */
function measure(schema: JsonObject): SchemaProblem | (SchemaTotals & { readonly json: string }) {
  const values: object[] = [schema];
  const places: Place[] = [new Place()];
  const depths: number[] = [1];
  let parts = 1;
  // Never more than the JSON has: keeps what is far too large from being written out for its exact size.
  let bytes = 2;
  for (let value = values.pop(); value !== undefined; value = values.pop()) {
    const place = places.pop() ?? new Place();
    const depth = depths.pop() ?? 1;
    // A list of a million values is not worth a list of a million names.
    const names = Array.isArray(value) ? undefined : Object.keys(value);
    const count = names?.length ?? (value as unknown[]).length;
    for (let index = 0; index < count; index += 1) {
      const name = names?.[index] ?? index;
      const member = (value as Record<string | number, unknown>)[name];
      bytes += typeof name === 'string' ? name.length + 3 : 0;
      bytes += typeof member === 'string' ? member.length + 2 : 1;
      if (bytes > schemaLimits.bytes) return tooLarge;
      if (member === null || typeof member !== 'object') continue;
      parts += 1;
      if (parts > schemaLimits.parts) {
        return { pointer: `${place}`, problem: `with more than ${schemaLimits.parts} objects and lists` };
      }
      if (depth === schemaLimits.depth) {
        return { pointer: `${place}`, problem: `with more than ${schemaLimits.depth} levels of objects and lists` };
      }
      values.push(member);
      places.push(place.at(name));
      depths.push(depth + 1);
    }
  }
  const json = JSON.stringify(schema);
  const exact = Buffer.byteLength(json);
  return exact > schemaLimits.bytes ? tooLarge : { json, bytes: exact, parts };
}

const tooLarge: SchemaProblem = { pointer: '', problem: `of more than ${schemaLimits.bytes} bytes` };

function checkKeywords(nodes: readonly SchemaNode[]): SchemaProblem | undefined {
  let enumValues = 0;
  let states = 0;
  for (const { schema, place } of nodes) {
    if (Array.isArray(schema.enum)) {
      enumValues += schema.enum.length;
      const { enumValues: most } = schemaLimits;
      if (enumValues > most) {
        return { pointer: `${place.at('enum')}`, problem: `with more than ${most} values of \`enum\` in all` };
      }
    }
    for (const name of ['anyOf', 'oneOf', 'allOf'] as const) {
      const choices = schema[name];
      const { alternatives: most } = schemaLimits;
      if (Array.isArray(choices) && choices.length > most) {
        const problem = `with more than ${most} members in one \`${name}\` (use \`enum\` for plain values)`;
        return { pointer: `${place.at(name)}`, problem };
      }
    }
    for (const [at, pattern] of listPatterns(schema, place)) {
      const own = pattern.length > schemaLimits.patternChars ? 0 : estimateStates(pattern);
      states += own;
      const problem = describePattern(pattern, own, states);
      if (problem !== undefined) return { pointer: `${at}`, problem };
    }
  }
  return undefined;
}

/** What is too much of a pattern, of its own states or of all so far. */
function describePattern(pattern: string, own: number, all: number): string | undefined {
  const { patternChars, patternStates, allPatternStates } = schemaLimits;
  if (pattern.length > patternChars) return `with a pattern of more than ${patternChars} characters`;
  if (own > patternStates) {
    return `with a pattern whose repetitions, written out, come to more than ${patternStates} states`;
  }
  if (all > allPatternStates) return `whose patterns come to more than ${allPatternStates} states in all`;
  return undefined;
}

/** Every regular expression of one schema object, with its place: `pattern` and the names of `patternProperties`. */
export function listPatterns(schema: JsonObject, place: Place): [place: Place, pattern: string][] {
  const found: [Place, string][] = [];
  if (typeof schema.pattern === 'string') found.push([place.at('pattern'), schema.pattern]);
  const named = schema.patternProperties;
  if (named === null || typeof named !== 'object' || Array.isArray(named)) return found;
  for (const name of Object.keys(named)) found.push([place.at('patternProperties').at(name), name]);
  return found;
}
