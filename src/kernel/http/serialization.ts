/**
 * Replies are written by their schema, so a member that the schema lacks cannot leak. Most schemas are references to the
 * same few components: each is compiled once, when the first reply needs it.
 */
import { createRequire } from 'node:module';
import type { TSchema } from 'typebox';
import {
  createDeferredCompiler,
  type DeferredCompiler,
  once,
  onceForComponents,
  onceForSchema,
} from './deferred-compiler.ts';

const require = createRequire(import.meta.url);
/** Loaded for the first reply, with a validator of its own. */
const loadCompiler = once(
  () => require('@fastify/fast-json-stringify-compiler') as typeof import('@fastify/fast-json-stringify-compiler'),
);

type Serialize = (data: unknown) => string;

/** The reference that error replies use: their body is made by the kernel itself, whole. */
const ERROR_REFERENCE = 'Error#';

/** Gives the serializer of a reply schema; equal schemas share one. */
export function createSerializers(
  components: ReadonlyMap<string, TSchema>,
  compiler: DeferredCompiler = createDeferredCompiler(),
): (route: { schema: unknown }) => Serialize {
  const shared = once(() => openSerializers(components));
  const deferred = onceForSchema<Serialize>((schema) => {
    const compiled = compiler.defer(() => shared()(schema));
    return (data) => compiled()(data);
  });
  return ({ schema }) =>
    (schema as { $ref?: string }).$ref === ERROR_REFERENCE ? JSON.stringify : deferred(schema as TSchema);
}

/** The compiled serializers of all services with these components. */
const openSerializers = onceForComponents((components) =>
  onceForSchema<Serialize>((schema) => {
    const select = loadCompiler().SerializerSelector()(definitionsFor(schema, components), {});
    return select({ schema, method: '', url: '', httpStatus: '' });
  }),
);

/** The components that the schema refers to, directly or through others: each that is given is checked anew. */
function definitionsFor(schema: unknown, components: ReadonlyMap<string, TSchema>): Record<string, TSchema> {
  const found: Record<string, TSchema> = {};
  const visit = (value: unknown): void => {
    if (value === null || typeof value !== 'object') return;
    const name = '$ref' in value && typeof value.$ref === 'string' ? value.$ref.split('#')[0] : undefined;
    const referred = name === undefined || Object.hasOwn(found, name) ? undefined : components.get(name);
    if (name !== undefined && referred !== undefined) {
      found[name] = { ...referred, $id: name };
      visit(referred);
    }
    for (const member of Object.values(value)) visit(member);
  };
  visit(schema);
  return found;
}
