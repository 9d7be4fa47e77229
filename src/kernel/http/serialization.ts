/**
 * Replies are written by their schema, so a member that the schema lacks cannot leak. Compiling is the costly part of
 * starting up, and most schemas are references to the same few components: each is compiled once.
 */
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import type { TSchema } from 'typebox';

type Serialize = (data: unknown) => string;

/** The reference that error replies use: their body is made by the kernel itself, whole. */
const ERROR_REFERENCE = 'Error#';

/** Gives the serializer of a reply schema; equal schemas share one. */
export function createSerializers(components: ReadonlyMap<string, TSchema>): (route: { schema: unknown }) => Serialize {
  const definitions = Object.fromEntries([...components].map(([name, schema]) => [name, { ...schema, $id: name }]));
  const compile = SerializerSelector()(definitions, {});
  const compiled = new Map<string, Serialize>();
  return ({ schema }) => {
    const key = JSON.stringify(schema);
    const known = compiled.get(key);
    if (known !== undefined) return known;
    const isError = (schema as { $ref?: string }).$ref === ERROR_REFERENCE;
    const serialize: Serialize = isError ? JSON.stringify : compile({ schema, method: '', url: '', httpStatus: '' });
    compiled.set(key, serialize);
    return serialize;
  };
}
