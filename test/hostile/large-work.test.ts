/**
 * Whatever a large body asks for is answered as it should be: of each kind one of a third of a megabyte, and one of the largest size. The
 * soak has all of them of that size, and says that nothing of it holds the event loop.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startPlatform, type TestPlatform } from '../support/platform.ts';
import { LARGEST, largeWork, type WorkSize } from './large-work.ts';

const LARGE: WorkSize = { textBytes: 333_000, vectors: 64 };
/** A text that becomes another on the way to the database. */
const OF_THE_LARGEST_SIZE = ['a message of what the database cannot hold'];

let platform: TestPlatform;
let place: { url: string; token: string };
before(async () => {
  platform = await startPlatform();
  const { token } = await platform.createProject();
  place = { url: platform.url, token };
});
after(() => platform.close());

const names = Object.keys(largeWork({ url: '', token: '' }));
for (const [about, size, cases] of [
  ['of a third of a megabyte', LARGE, names],
  ['of the largest size', LARGEST, OF_THE_LARGEST_SIZE],
] as const) {
  for (const name of cases) {
    test(`the platform answers ${name}, ${about}`, async () => {
      const { status, send } = largeWork(place, size)[name] ?? assert.fail('there is no such case');
      const answer = await send();
      const text = await answer.text();
      assert.equal(answer.status, status, text.slice(0, 300));
    });
  }
}
