import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareInProcess } from './shared.ts';

function watch(failures = 0) {
  const events: string[] = [];
  let made = 0;
  const borrow = shareInProcess(async () => {
    made += 1;
    events.push(`made ${made}`);
    if (made <= failures) throw new Error('not today');
    const name = `closed ${made}`;
    return { close: async () => void events.push(name) };
  });
  return { borrow, events };
}

test('what is shared is made once for users at the same time', async () => {
  const { borrow, events } = watch();
  const [one, other] = await Promise.all([borrow(), borrow()]);
  assert.equal(one.value, other.value);
  assert.deepEqual(events, ['made 1']);
});

test('what could not be made is tried again', async () => {
  const { borrow, events } = watch(1);
  await assert.rejects(borrow(), /not today/);
  await borrow();
  assert.deepEqual(events, ['made 1', 'made 2']);
});
