import { setImmediate as nextTick } from 'node:timers/promises';

/**
 * One call of `run` for what comes in the same turn of the event loop, and one for what comes while that is under way. It
 * answers for the items in their order; all of them fail with it.
 */
export function createBatcher<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  let waiting: { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }[] = [];
  let running = false;

  async function runAll(): Promise<void> {
    await nextTick();
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        const results = await run(batch.map(({ item }) => item));
        for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    running = false;
  }

  return (item) => {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    waiting.push({ item, resolve, reject });
    if (!running) {
      running = true;
      void runAll();
    }
    return promise;
  };
}
