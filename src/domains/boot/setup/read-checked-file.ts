/** Reads a file that an operator writes, and checks it. Every problem is told at once, by the member that has it. */
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import type { NoteProblem } from './note-problem.ts';

interface Words {
  /** Where the members are explained. */
  readonly page: string;
  /** What is wrong with the member at that place, or with one that it has and may not have, in other words than the schema's; '': nothing worth telling. */
  readonly explain?: (place: string, keyword: string) => string | undefined;
}

/** YAML, or JSON by its ending. Undefined where it has not the form of the schema: the problems are noted. */
export async function readCheckedFile<Schema extends TSchema>(
  schema: Schema,
  path: string,
  note: NoteProblem,
  { page, explain = () => undefined }: Words,
): Promise<Static<Schema> | undefined> {
  let read: unknown;
  try {
    const text = await readFile(path, 'utf8');
    read = extname(path).toLowerCase() === '.json' ? JSON.parse(text) : await parseYaml(text);
  } catch (error) {
    note('', `cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
  if (Value.Check(schema, read)) return read;
  for (const error of Value.Errors(schema, read)) {
    const place = placeOf(error.instancePath);
    const words = explain(place, error.keyword);
    if (words === '') continue;
    if (error.keyword === 'additionalProperties') {
      for (const member of error.params.additionalProperties)
        note(join(place, member), words ?? `is no member; see ${page}`);
    } else if (words !== undefined) {
      note(place, words);
    } else if (error.keyword === 'enum') {
      note(place, `must be one of ${error.params.allowedValues.join(', ')}`);
    } else if (error.keyword !== 'boolean') note(place, error.message);
  }
  return undefined;
}

async function parseYaml(text: string): Promise<unknown> {
  const { parse } = await import('yaml');
  return parse(text, { maxAliasCount: 100 });
}

/** `/registries/0/fees` as `registries[0].fees`. */
function placeOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .reduce((place, part) => (/^\d+$/.test(part) ? `${place}[${part}]` : join(place, part)), '');
}

function join(place: string, member: string): string {
  return place === '' ? member : `${place}.${member}`;
}
