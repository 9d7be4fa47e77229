/**
 * Validators and serializers are compiled when a request first needs them: compiling all of a service's takes a second and
 * a hundred megabytes, and a process uses few of them. What does not compile would be found by a request only, so
 * `compileAll` does what the requests would: the tests call it.
 */
import type { TSchema } from 'typebox';

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Compiles every validator and serializer of a service that is ready, and says how many there are. Throws where a schema
     * is faulty.
     */
    compileSchemas(): number;
  }
}

export interface DeferredCompiler {
  /** `compile`, run at the first call and never again. */
  defer<Compiled>(compile: () => Compiled): () => Compiled;
  /** Compiles what is left and says how many there are in all. Throws what the first one that does not compile throws. */
  compileAll(): number;
}

export function createDeferredCompiler(): DeferredCompiler {
  const deferred: Array<() => unknown> = [];
  return {
    defer(compile) {
      const compileOnce = once(compile);
      deferred.push(compileOnce);
      return compileOnce;
    },
    compileAll() {
      for (const compileOnce of deferred) compileOnce();
      return deferred.length;
    },
  };
}

/** What `make` makes of the components; for all services of the process that have the same ones it is made once. */
export function onceForComponents<Made>(
  make: (components: ReadonlyMap<string, TSchema>) => Made,
): (components: ReadonlyMap<string, TSchema>) => Made {
  const known = new Map<string, Made>();
  return (components) => {
    const key = JSON.stringify([...components]);
    const made = known.get(key) ?? make(components);
    known.set(key, made);
    return made;
  };
}

/** `compile`, run once for all schemas that have the same text. */
export function onceForSchema<Compiled>(compile: (schema: TSchema) => Compiled): (schema: TSchema) => Compiled {
  const known = new Map<string, Compiled>();
  return (schema) => {
    const key = JSON.stringify(schema);
    const compiled = known.get(key) ?? compile(schema);
    known.set(key, compiled);
    return compiled;
  };
}

/** The work's result, made at the first call. What throws is tried again. */
export function once<Result>(work: () => Result): () => Result {
  let done: { readonly result: Result } | undefined;
  return () => {
    done ??= { result: work() };
    return done.result;
  };
}
