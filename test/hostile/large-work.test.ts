/** Whatever a body of the largest size asks for is answered as it should be. The soak says that nothing of it holds the event loop. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startPlatform, type TestPlatform } from '../support/platform.ts';
import { largeWork } from './large-work.ts';

let platform: TestPlatform;
let work: ReturnType<typeof largeWork>;
before(async () => {
  platform = await startPlatform();
  const { token } = await platform.createProject();
  work = largeWork({ url: platform.url, token });
});
after(() => platform.close());

for (const name of Object.keys(largeWork({ url: '', token: '' }))) {
  test(`the platform answers ${name}`, async () => {
    const { status, send } = work[name] ?? assert.fail('there is no such case');
    const answer = await send();
    const text = await answer.text();
    assert.equal(answer.status, status, text.slice(0, 300));
  });
}
