/** What a hosted page does in a browser, for people with and without a screen, on networks that fail; the soak does more of it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NEEDS_CHROMIUM } from '../../../../test/support/browser.ts';
import { assertAccessible, openHostedPages } from '../../../../test/support/hosted-pages.ts';
import { HOSTILE } from '../../../../test/support/markdown-answers.ts';

describe('a hosted page in Chromium', { skip: NEEDS_CHROMIUM }, () => {
  const pages = openHostedPages();
  const { visit } = pages;

  pages.testLooks({ direction: 'ltr', screen: 'phone', colorScheme: 'light' });
  pages.testLooks({ direction: 'rtl', screen: 'desktop', colorScheme: 'dark' });

  test('runs, loads and imitates nothing that an answer or a visitor says', async () => {
    pages.upstream.respondWith({ type: 'answer', deltas: HOSTILE.match(/[\s\S]{1,40}/g) ?? [] });
    const { send, rest, answer, texts, leave } = await visit();
    const own = '<img src=x onerror="ran=1"> **plain**';
    await send(own);
    await rest();
    assert.equal((await texts())[0], own);
    assert.match(await answer.innerText(), /^Here it is: .*drawn[\s\S]*over it all[\s\S]*The end\./);
    const foreign =
      'img,script,svg,iframe,style,link,form,input,button,dialog,video,object,embed,base,meta,math,[id],[class]';
    assert.equal(await answer.locator(foreign).count(), 0);
    assert.equal(await answer.locator('[style],[background],[onerror],[role=alert],[data-page]').count(), 0);
    for (const link of await answer.getByRole('link').all()) {
      assert.match((await link.getAttribute('href')) ?? '', /^http:/);
      assert.equal(await link.getAttribute('rel'), 'noopener noreferrer nofollow');
    }
    await leave();
  });

  test('connections that are cut lose and double nothing', async () => {
    const words = Array.from({ length: 15 }, (_, n) => `word${n} `);
    pages.upstream.respondWith({ type: 'answer', deltas: words, delayMs: 20 });
    const { send, rest, answer, texts, runs, leave } = await visit({}, pages.proxy.url);
    pages.proxy.cutNext([0, 3, 1]);
    await send('Say it.');
    await rest();
    assert.equal(pages.proxy.left, 0);
    assert.deepEqual(await texts(), ['Say it.', words.join('').trim()]);
    assert.equal((await answer.innerText()).split(' ').length, words.length);
    assert.deepEqual(
      (await runs()).map(({ output }: { output: { content: string } }) => output.content),
      [words.join('')],
    );
    await leave();
  });

  test('the conversation outlives a reload, in the middle of an answer too', async () => {
    pages.upstream.respondWith([
      { type: 'answer', deltas: ['First.'] },
      { type: 'answer', deltas: Array.from({ length: 30 }, (_, n) => `w${n} `), delayMs: 20 },
    ]);
    const { page, send, rest, answer, texts, runs, leave } = await visit();
    await send('One?');
    await rest();
    await send('Two?');
    await answer.getByText('w3').waitFor();
    await page.reload();
    await answer.getByText('w29').waitFor();
    await rest();
    const said = ['One?', 'First.', 'Two?', Array.from({ length: 30 }, (_, n) => `w${n}`).join(' ')];
    assert.deepEqual(await texts(), said);
    await page.reload();
    assert.deepEqual(await texts(), said);
    const threads = async () => (await runs()).map(({ thread_id }: { thread_id: string }) => thread_id);
    assert.deepEqual([(await threads()).length, new Set(await threads()).size], [2, 1]);
    await page.getByRole('button', { name: 'New chat' }).click();
    assert.deepEqual(await texts(), []);
    await send('Three?');
    await rest();
    assert.deepEqual([(await threads()).length, new Set(await threads()).size], [3, 2]);
    await leave();
  });

  test('a visitor stops an answer, and what was said of it stays', async () => {
    pages.upstream.respondWith({ type: 'answer', deltas: ['One ', 'two '], fault: { afterChunks: 2, type: 'hang' } });
    const { page, send, rest, answer, status, texts, runs, leave } = await visit();
    await send('Count.');
    await answer.getByText('One two').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await rest();
    assert.deepEqual(await texts(), ['Count.', 'One two']);
    assert.equal(await status.innerText(), 'Stopped.');
    assert.equal((await runs())[0].status, 'cancelled');
    assert.equal(await page.evaluate('document.activeElement.id'), 'message');
    await leave();
  });

  test('a protected page asks for its password', async () => {
    pages.upstream.respondWith({ type: 'answer', deltas: ['Welcome.'] });
    const { page, input, send, rest, status, texts, leave } = await visit({ secrets: { password: 'sesame' } });
    const unlock = async (password: string) => {
      await page.getByLabel('Password').fill(password);
      await page.keyboard.press('Enter');
    };
    assert.equal(await status.innerText(), 'This page is protected. Enter its password.');
    assert.equal(await input.isVisible(), false);
    await assertAccessible(page, 'locked');
    await unlock('wrong');
    await send('Hello!');
    await page.getByText('That is not the password.').waitFor();
    await unlock('sesame');
    await rest();
    assert.deepEqual(await texts(), ['Hello!', 'Welcome.']);
    await page.reload();
    await send('Again!');
    await rest();
    assert.deepEqual((await texts()).slice(2), ['Again!', 'Welcome.']);
    await leave();
  });

  test('a keyboard is enough, and a screen reader is told each answer once, whole', async () => {
    pages.upstream.respondWith({ type: 'answer', deltas: ['One ', 'two ', 'three.'], delayMs: 50 });
    const { page, rest, status, texts, leave } = await visit();
    await page.evaluate(`
      told = [];
      const observer = new MutationObserver((changes) => told.push(...changes.map(({ target }) => target.textContent.trim())));
      for (const region of document.querySelectorAll('[role=status], [aria-live]')) observer.observe(region, { childList: true });`);
    const focus = () => page.evaluate('document.activeElement.id');
    const stops: unknown[] = [];
    for (let stop = 0; stop < 4; stop += 1) {
      await page.keyboard.press('Tab');
      stops.push(await focus());
    }
    assert.deepEqual(stops, ['new', 'messages', 'message', 'send']);
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.type('Count');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('to three.');
    await page.keyboard.press('Enter');
    await rest();
    assert.deepEqual(await texts(), ['Count\nto three.', 'One two three.']);
    assert.equal(await focus(), 'message');
    assert.deepEqual(await page.evaluate('told'), ['The answer is being written.', 'One two three.', '']);
    assert.equal(await status.innerText(), '');
    const names = await page.getByRole('group').evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')));
    assert.deepEqual(names, ['You', 'Answer']);
    await leave();
  });
});
