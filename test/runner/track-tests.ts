/**
 * Imported before node:test, which knows by an async hook what belongs to which test. For that Node tells it of every promise, and has
 * the garbage collector watch for the end of each: a fifth of what a worker computed. Here a context that Node hands on by itself
 * holds the async id of the test, and node:test finds by that the parent of what is declared, and the test that an uncaught error
 * belongs to.
 */
import asyncHooks, { AsyncLocalStorage, AsyncResource, createHook, executionAsyncId } from 'node:async_hooks';

const testId = new AsyncLocalStorage<number>();
let noteTest: asyncHooks.HookCallbacks['init'];

/** Tests, suites and their hooks are such resources, and what they execute runs in their scope. */
class TrackedResource extends AsyncResource {
  constructor(...args: ConstructorParameters<typeof AsyncResource>) {
    super(...args);
    noteTest?.(this.asyncId(), args[0], this.triggerAsyncId(), this);
  }

  override runInAsyncScope<This, Result>(
    work: (this: This, ...args: unknown[]) => Result,
    thisArg?: This,
    ...args: unknown[]
  ): Result {
    return super.runInAsyncScope(() => testId.run(this.asyncId(), () => Reflect.apply(work, thisArg, args)));
  }
}

Object.assign(asyncHooks, {
  AsyncResource: TrackedResource,
  executionAsyncId: () => testId.getStore() ?? executionAsyncId(),
  createHook({ init }: asyncHooks.HookCallbacks): asyncHooks.AsyncHook {
    noteTest = init;
    const hook: asyncHooks.AsyncHook = { enable: () => hook, disable: () => hook };
    return hook;
  },
});
// node:test keeps what it finds now, and nobody else sees it.
await import('node:test');
Object.assign(asyncHooks, { AsyncResource, executionAsyncId, createHook });
