/** Hosted pages in a browser beyond the gate: the other looks, and what visitors seldom do. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NEEDS_CHROMIUM } from '../../../../test/support/browser.ts';
import { openHostedPages } from '../../../../test/support/hosted-pages.ts';
import { eventually } from '../../../../test/support/turns.ts';

describe('a hosted page in Chromium', { skip: NEEDS_CHROMIUM }, () => {
  const pages = openHostedPages();
  const { visit } = pages;

  for (const [direction, screen, colorScheme] of [
    ['ltr', 'phone', 'dark'],
    ['ltr', 'desktop', 'light'],
    ['ltr', 'desktop', 'dark'],
    ['rtl', 'phone', 'light'],
    ['rtl', 'phone', 'dark'],
    ['rtl', 'desktop', 'light'],
  ] as const) {
    pages.testLooks({ direction, screen, colorScheme });
  }

  test('an answer too deep to be Markdown is shown as it is', async () => {
    const deep = '>'.repeat(5_000);
    pages.upstream.respondWith({ type: 'answer', deltas: [deep] });
    const { send, rest, answer, leave } = await visit();
    await send('Quote.');
    await rest();
    assert.match(await answer.innerText(), /^>*$/);
    await leave();
  });

  test('who reloads and stops before anything has come back stops the turn that goes on', async () => {
    pages.upstream.respondWith({ type: 'answer', deltas: ['One ', 'two '], fault: { afterChunks: 2, type: 'hang' } });
    const { page, input, send, rest, status, texts, runs, leave } = await visit();
    const reached = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    let requests = 0;
    await page.route('**/chat', async (route) => {
      requests += 1;
      // The first reaches the server, and nothing comes back; the second is on its way while the visitor stops.
      if (requests === 1) return void route.fetch().catch(() => undefined);
      reached.resolve();
      await held.promise;
      await route.continue();
    });
    await send('Count.');
    await eventually(async () => ((await runs()).length > 0 ? true : undefined), 'the turn has begun');
    await page.reload();
    await reached.promise;
    await page.getByRole('button', { name: 'Stop' }).click();
    assert.equal(await status.innerText(), 'Stopping…');
    held.resolve();
    await rest();
    assert.equal(await status.innerText(), 'Stopped.');
    assert.deepEqual([(await texts())[0], await input.inputValue()], ['Count.', '']);
    assert.deepEqual(
      (await runs()).map((run: { status: string }) => run.status),
      ['cancelled'],
    );
    await leave();
  });

  test('a message that is refused comes back, and a page that reaches nobody says so', async () => {
    pages.upstream.respondWith({ type: 'answer', deltas: ['Yes.'] });
    const settings = { provider_metadata: { chats_per_minute: 1 } };
    const { page, smithId, input, send, rest, status, texts, leave } = await visit(settings);
    await send('First?');
    await rest();
    await send('Second?');
    await page.getByText('That was a lot at once.').waitFor();
    assert.deepEqual([await input.inputValue(), await texts()], ['Second?', ['First?', 'Yes.']]);
    assert.equal((await pages.project.delete(`/v1/smiths/${smithId}`)).status, 204);
    await page.reload();
    assert.equal(await status.innerText(), 'This page is out of service.');
    assert.deepEqual([await input.isDisabled(), await texts()], [true, ['First?', 'Yes.']]);
    await leave();
  });
});
