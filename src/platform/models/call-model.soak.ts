import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type OpenAiBehaviour, startOpenAiUpstream } from '../../../test/fakes/openai-upstream.ts';
import { medianOfThree } from '../../../test/support/computed-time.ts';
import { makeInstance } from '../../../test/support/schemas.ts';
import { timed } from '../../../test/support/timed.ts';
import { openWaysOut } from '../../../test/support/ways-out.ts';
import { callModel, openModel } from './index.ts';

const LIMIT_MS = 50;
/** By when a reader waits for what the upstream has not sent. */
const SETTLED_MS = 100;

const waysOut = openWaysOut();
const openai = await startOpenAiUpstream();
after(() => openai.close());

const silences: [when: string, buffered: boolean, behaviour: OpenAiBehaviour][] = [
  ['before headers', false, { type: 'hang_before_headers' }],
  ['before content', false, { type: 'answer', fault: { afterChunks: 0, type: 'hang' } }],
  ['in the middle of the answer', false, { type: 'answer', deltas: ['One'], fault: { afterChunks: 1, type: 'hang' } }],
  ['that is to be answered whole', true, { type: 'hang_before_headers' }],
];
for (const provider of ['openai', 'openai-compatible']) {
  for (const [when, buffered, behaviour] of silences) {
    test(`a call of ${provider} ${when} ends in less than 50 ms when it is aborted`, async () => {
      openai.respondWith(behaviour);
      const ms = await medianOfThree(async () => {
        const count = openai.requests.length;
        const controller = new AbortController();
        const credentials = { apiKey: 'sk-test-0123456789abcdef', baseUrl: openai.url };
        const model = await openModel(`${provider}/test-model`, credentials, waysOut, makeInstance);
        const options = { prompt: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello?' }] }] };
        const outcome = callModel({ model, options, buffered, signal: controller.signal }, () => {}).then(
          () => assert.fail('it ended by itself'),
          (error: unknown) => error,
        );
        await openai.waitForRequests(count + 1);
        await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
        const [error, tookMs] = await timed(async () => {
          controller.abort(new Error('cancelled by the user'));
          return outcome;
        });
        assert.match(String(error), /cancelled by the user/);
        assert.equal(await openai.requests.at(-1)?.closed, 'client');
        return tookMs;
      });
      assert.ok(ms < LIMIT_MS, `took ${ms} ms`);
    });
  }
}
