/** What goes into one call, where nothing is too large to go alone, and how long others wait for it. */
import { setTimer } from '../clock/timers.ts';
export interface BatchLimits<Item> {
  readonly maxItems: number;
  /** Of all items together, in any unit. */
  readonly size?: { readonly of: (item: Item) => number; readonly max: number };
  /** What waits goes beside a call that takes longer: one that is held up does not hold up everything. Default: it waits. */
  readonly patienceMs?: number;
}

let turn: Promise<void> | undefined;

/**
 * Once what came in this turn of the event loop has been dealt with. All who ask in it go on together, with nothing in between, so
 * that what they send over one connection leaves in one write.
 */
function nextTurn(): Promise<void> {
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined;
      resolve();
    });
  });
  return turn;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * One call of `run` for what comes in the same turn of the event loop, and one for what comes while that is under way. It
 * answers for the items in their order; all of them fail with it.
 */
export function createBatcher<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
  limits?: BatchLimits<Item>,
): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let running = false;

  async function runAll(): Promise<void> {
    await nextTurn();
    while (waiting.length > 0) {
      const batch = waiting.splice(0, countFitting(waiting, limits));
      await patiently(answer(batch), limits?.patienceMs);
    }
    running = false;
  }

  async function answer(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await run(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
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

/** The same for each key by itself: what has different keys neither goes together nor waits for each other. */
export function createKeyedBatcher<Item, Result>(
  run: (key: string, items: readonly Item[]) => Promise<readonly Result[]>,
  limits?: BatchLimits<Item>,
): (key: string, item: Item) => Promise<Result> {
  const batchers = new Map<string, { readonly add: (item: Item) => Promise<Result>; used: number }>();
  return async (key, item) => {
    const batcher = batchers.get(key) ?? {
      add: createBatcher((items: readonly Item[]) => run(key, items), limits),
      used: 0,
    };
    batchers.set(key, batcher);
    batcher.used += 1;
    try {
      return await batcher.add(item);
    } finally {
      batcher.used -= 1;
      if (batcher.used === 0) batchers.delete(key);
    }
  };
}

async function patiently(call: Promise<void>, patienceMs: number | undefined): Promise<void> {
  if (patienceMs === undefined) return call;
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimer(resolve, patienceMs, { keepsProcess: true });
  await Promise.race([call, late]);
  timer.cancel();
}

function countFitting<Item>(
  waiting: readonly { readonly item: Item }[],
  limits: BatchLimits<Item> | undefined,
): number {
  if (limits === undefined) return waiting.length;
  const { maxItems, size } = limits;
  let sum = 0;
  for (const [count, { item }] of waiting.entries()) {
    sum += size?.of(item) ?? 0;
    if (count > 0 && (count === maxItems || sum > (size?.max ?? sum))) return count;
  }
  return waiting.length;
}
