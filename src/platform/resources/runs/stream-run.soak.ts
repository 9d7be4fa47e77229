import assert from 'node:assert/strict';
import { after, before, mock, test } from 'node:test';
import { type OpenAiUpstream, startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';
import { weighSlowReaders } from '../../../../test/support/slow-readers.ts';
import { makeUpstreamSmith } from '../../../../test/support/turns.ts';

let platform: TestPlatform;
let upstream: OpenAiUpstream;
before(async () => {
  [platform, upstream] = await Promise.all([startPlatform(), startOpenAiUpstream()]);
});
after(async () => {
  await platform.close();
  await upstream.close();
});

test('the server keeps less than one reader needs for four slow readers of a run of 100,000 words', async () => {
  const { grown, wireBytes } = await weighSlowReaders(platform, { words: 100_000, readers: 4 });
  // All of it for one reader alone would be 17 MB.
  assert.ok(grown < wireBytes, `${Math.round(grown / 1e6)} MB more for four readers that do not read`);
});

test('a silent stream is kept alive by comments', async () => {
  mock.timers.enable({ apis: ['setInterval'] });
  try {
    const smith = await makeUpstreamSmith(platform, upstream);
    upstream.respondWith({ type: 'hang_before_headers' });
    const leave = new AbortController();
    const response = await smith.stream('Hello', {}, leave.signal);
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    let text = '';
    const readUntil = async (wanted: string) => {
      while (!text.includes(wanted)) text += decoder.decode((await reader?.read())?.value, { stream: true });
    };
    await readUntil('run.started');
    mock.timers.tick(15_000);
    await readUntil('\n: keep-alive\n\n');
    mock.timers.tick(15_000);
    await readUntil(': keep-alive\n\n: keep-alive\n\n');
    const { body } = await smith.project.get(smith.runs);
    await smith.cancel(body.data[0].id);
    await readUntil('run.cancelled');
    leave.abort();
  } finally {
    mock.timers.reset();
  }
});
