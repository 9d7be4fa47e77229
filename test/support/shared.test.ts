import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endFile, keepShared, shareInProcess } from './shared.ts';

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

test('what is kept for the next file is closed once several in a row had no use for it', async () => {
  keepShared();
  const { borrow, events } = watch();
  const ofFile = async (uses: boolean) => {
    if (uses) await (await borrow()).release();
    await endFile();
  };
  for (const uses of [true, false, false, true, false, false]) await ofFile(uses);
  assert.deepEqual(events, ['made 1']);
  await ofFile(false);
  assert.deepEqual(events, ['made 1', 'closed 1']);
  await ofFile(true);
  assert.deepEqual(events, ['made 1', 'closed 1', 'made 2']);
});

test('what a file holds on to stays open however many files end meanwhile', async () => {
  keepShared();
  const { borrow, events } = watch();
  const { release } = await borrow();
  for (let ended = 0; ended < 10; ended += 1) await endFile();
  assert.deepEqual(events, ['made 1']);
  await release();
});
