import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBatcher, createKeyedBatcher } from './batcher.ts';

/** Calls that are answered, with the items themselves, when the test says so. */
function heldCalls() {
  const calls: { readonly items: readonly number[]; readonly release: () => void }[] = [];
  const waiting: (() => void)[] = [];
  const run = async (items: readonly number[]) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    calls.push({ items, release: resolve });
    waiting.shift()?.();
    await promise;
    return items;
  };
  const nextCall = () => new Promise<void>((resolve) => waiting.push(resolve));
  return { calls, run, nextCall };
}

test('what comes while a call is under way goes into the next, up to its limits', async () => {
  const { calls, run, nextCall } = heldCalls();
  const size = { of: (item: number) => item, max: 10 };
  const add = createBatcher(run, { maxItems: 3, size });
  const began = nextCall();
  const answers = [add(1), add(2)];
  await began;
  answers.push(...[3, 4, 1, 1, 9, 50, 1].map(add));
  for (let number = 0; number < 5; number += 1) {
    const next = nextCall();
    calls[number]?.release();
    if (number < 4) await next;
  }
  assert.deepEqual(await Promise.all(answers), [1, 2, 3, 4, 1, 1, 9, 50, 1]);
  assert.deepEqual(
    calls.map(({ items }) => items),
    [[1, 2], [3, 4, 1], [1, 9], [50], [1]],
  );
});

test('what is called for beside one that takes long is answered before it', async () => {
  const { calls, run, nextCall } = heldCalls();
  const add = createBatcher(run, { maxItems: 10, patienceMs: 1 });
  const began = nextCall();
  const held = add(1);
  await began;
  const next = nextCall();
  const second = add(2);
  await next;
  calls[1]?.release();
  assert.equal(await second, 2);
  calls[0]?.release();
  assert.equal(await held, 1);
});

test('what has different keys neither goes together nor waits for each other', async () => {
  const { calls, run, nextCall } = heldCalls();
  const add = createKeyedBatcher((_, items: readonly number[]) => run(items));
  const began = nextCall();
  const held = add('one', 1);
  await began;
  const next = nextCall();
  const other = add('other', 2);
  const together = add('other', 3);
  await next;
  calls[1]?.release();
  assert.deepEqual(await Promise.all([other, together]), [2, 3]);
  calls[0]?.release();
  assert.equal(await held, 1);
});

test('all that go together fail together, and what comes later does not', async () => {
  let isBroken = true;
  const add = createBatcher(async (items: readonly number[]) => {
    if (isBroken) throw new Error('broken');
    return items;
  });
  const failed = await Promise.allSettled([add(1), add(2)]);
  assert.deepEqual(
    failed.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  isBroken = false;
  assert.equal(await add(3), 3);
});

test('calls of one turn of the event loop begin together, whatever batcher they are of', async () => {
  const order: string[] = [];
  const noting = (name: string) =>
    createBatcher(async (items: readonly number[]) => {
      order.push(name);
      process.nextTick(() => order.push(`after ${name}`));
      return items;
    });
  await Promise.all([noting('one')(1), noting('other')(2)]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(order, ['one', 'other', 'after one', 'after other']);
});
