/**
 * Replies are written by their schema, so a member that the schema lacks cannot leak. Most schemas are references to the
 * same few components: each is compiled once, when the first reply needs it.
 */
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import type { TSchema } from 'typebox';
import { createDeferredCompiler, type DeferredCompiler, once } from './deferred-compiler.ts';

type Serialize = (data: unknown) => string;

/** The reference that error replies use: their body is made by the kernel itself, whole. */
const ERROR_REFERENCE = 'Error#';

/** Gives the serializer of a reply schema; equal schemas share one. */
export function createSerializers(
  components: ReadonlyMap<string, TSchema>,
  compiler: DeferredCompiler = createDeferredCompiler(),
): (route: { schema: unknown }) => Serialize {
  const select = once(() => {
    const definitions = Object.fromEntries([...components].map(([name, schema]) => [name, { ...schema, $id: name }]));
    return SerializerSelector()(definitions, {});
  });
  const known = new Map<string, Serialize>();
  return ({ schema }) => {
    if ((schema as { $ref?: string }).$ref === ERROR_REFERENCE) return JSON.stringify;
    const key = JSON.stringify(schema);
    const shared = known.get(key);
    if (shared !== undefined) return shared;
    const compiled = compiler.defer<Serialize>(() => select()({ schema, method: '', url: '', httpStatus: '' }));
    const serialize: Serialize = (data) => compiled()(data);
    known.set(key, serialize);
    return serialize;
  };
}
