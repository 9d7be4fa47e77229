import assert from 'node:assert/strict';
import { stat } from 'node:fs';
import { test } from 'node:test';
import { ownIteration } from './own-iteration.ts';

/** Counts iterations of the event loop until the work is done. */
async function countIterations(work: Promise<unknown>): Promise<{ at: () => number; done: Promise<void> }> {
  let iterations = 0;
  let isOver = false;
  const count = (): void => {
    iterations += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  return {
    at: () => iterations,
    done: work.then(() => {
      isOver = true;
    }),
  };
}

test('each gets an iteration of its own, in the order in which they asked', async () => {
  const order: number[] = [];
  const iterations: number[] = [];
  let at = (): number => 0;
  const work = Promise.all(
    [0, 1, 2, 3].map(async (index) => {
      await ownIteration();
      order.push(index);
      iterations.push(at());
    }),
  );
  const counter = await countIterations(work);
  at = counter.at;
  await counter.done;
  assert.deepEqual(order, [0, 1, 2, 3]);
  assert.equal(new Set(iterations).size, 4, `${iterations}`);
});

test('who asks while an event is handled gets an iteration after the one of that event', async () => {
  const order: string[] = [];
  await new Promise<void>((resolve) => {
    stat('.', () => {
      setImmediate(() => {
        order.push('end of the iteration');
        setImmediate(() => order.push('end of the next'));
      });
      void ownIteration().then(() => {
        order.push('own');
        resolve();
      });
    });
  });
  assert.deepEqual(order, ['end of the iteration', 'end of the next', 'own']);
});

test('who asks again waits behind those who asked before', async () => {
  const order: string[] = [];
  const first = (async () => {
    await ownIteration();
    order.push('first');
    await ownIteration();
    order.push('first again');
  })();
  const second = (async () => {
    await ownIteration();
    order.push('second');
  })();
  await Promise.all([first, second]);
  assert.deepEqual(order, ['first', 'second', 'first again']);
});
