/** What a hosted page does in a browser, for people with and without a screen, on networks that fail. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, Page } from 'playwright-core';
import { type OpenAiUpstream, startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { NEEDS_CHROMIUM, startChromium } from '../../../../test/support/browser.ts';
import { type CuttingProxy, startCuttingProxy } from '../../../../test/support/cutting-proxy.ts';
import { HOSTILE, RICH } from '../../../../test/support/markdown-answers.ts';
import { PHONE, visitPage } from '../../../../test/support/page-visitor.ts';
import { startPlatform, type TestPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { eventually, useUpstream } from '../../../../test/support/turns.ts';

const DESKTOP = { width: 1280, height: 800 };

describe('a hosted page in Chromium', { skip: NEEDS_CHROMIUM }, () => {
  let platform: TestPlatform;
  let upstream: OpenAiUpstream;
  let proxy: CuttingProxy;
  let browser: Browser;
  let project: TestProject;

  before(async () => {
    [platform, upstream, browser] = await Promise.all([startPlatform(), startOpenAiUpstream(), startChromium()]);
    proxy = await startCuttingProxy(platform.url, 'text');
    project = await platform.createProject();
    await useUpstream(project, upstream);
  });
  after(async () => {
    await browser?.close();
    await proxy?.close();
    await upstream?.close();
    await platform?.close();
  });

  const visit = (settings: Record<string, unknown> = {}, url = platform.url) =>
    visitPage(browser, { project, url, settings });

  async function assertAccessible(page: Page, where: string): Promise<void> {
    const { violations } = await new AxeBuilder({ page }).analyze();
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join('\n')}`);
    assert.deepEqual(found, [], where);
  }

  for (const [direction, title, greeting, phoneScheme, desktopScheme] of [
    ['ltr', 'Help with refunds', 'How can I help you?', 'light', 'dark'],
    ['rtl', 'עזרה בהחזרים', 'במה אפשר לעזור?', 'dark', 'light'],
  ] as const) {
    test(`fits phones and desktops, light and dark, and axe finds nothing: ${direction}`, async () => {
      upstream.respondWith({ type: 'answer', deltas: [RICH] });
      const { page, send, rest, answer, leave } = await visit({ provider_metadata: { title, greeting } });
      await send('Where is my money? '.repeat(8));
      await rest();
      assert.equal(await page.locator('html').getAttribute('dir'), direction);
      assert.deepEqual(
        await answer.locator(':is(h1,h2,h3,h4)').evaluateAll((all) => all.map(({ tagName }) => tagName)),
        ['H2', 'H3'],
      );
      assert.deepEqual(await answer.getByRole('link').allInnerTexts(), ['the handbook', 'a picture of it', 'picture']);
      for (const [viewport, colorScheme] of [
        [PHONE, phoneScheme],
        [DESKTOP, desktopScheme],
      ] as const) {
        await page.setViewportSize(viewport);
        await page.emulateMedia({ colorScheme });
        await assertAccessible(page, `${viewport.width} px, ${colorScheme}`);
        const measures = `(({ left, right }) => [document.documentElement.scrollWidth, left, innerWidth - right])(
          document.querySelector('.user').getBoundingClientRect())`;
        const [width, before, behind] = (await page.evaluate(measures)) as [number, number, number];
        assert.ok(width <= viewport.width, `${width} px on a screen of ${viewport.width}`);
        assert.equal(before > behind, direction === 'ltr', 'one’s own words stand at the end of the line');
      }
      await leave();
    });
  }

  test('runs, loads and imitates nothing that an answer or a visitor says', async () => {
    upstream.respondWith({ type: 'answer', deltas: HOSTILE.match(/[\s\S]{1,40}/g) ?? [] });
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

  test('an answer too deep to be Markdown is shown as it is', async () => {
    const deep = '>'.repeat(5_000);
    upstream.respondWith({ type: 'answer', deltas: [deep] });
    const { send, rest, answer, leave } = await visit();
    await send('Quote.');
    await rest();
    assert.match(await answer.innerText(), /^>*$/);
    await leave();
  });

  test('connections that are cut lose and double nothing', async () => {
    const words = Array.from({ length: 40 }, (_, n) => `word${n} `);
    upstream.respondWith({ type: 'answer', deltas: words, delayMs: 30 });
    const { send, rest, answer, texts, runs, leave } = await visit({}, proxy.url);
    proxy.cutNext([0, 3, 1]);
    await send('Say it.');
    await rest();
    assert.equal(proxy.left, 0);
    assert.deepEqual(await texts(), ['Say it.', words.join('').trim()]);
    assert.equal((await answer.innerText()).split(' ').length, words.length);
    assert.deepEqual(
      (await runs()).map(({ output }: { output: { content: string } }) => output.content),
      [words.join('')],
    );
    await leave();
  });

  test('the conversation outlives a reload, in the middle of an answer too', async () => {
    upstream.respondWith([
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
    upstream.respondWith({ type: 'answer', deltas: ['One ', 'two '], fault: { afterChunks: 2, type: 'hang' } });
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

  test('who reloads and stops before anything has come back stops the turn that goes on', async () => {
    upstream.respondWith({ type: 'answer', deltas: ['One ', 'two '], fault: { afterChunks: 2, type: 'hang' } });
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

  test('a protected page asks for its password', async () => {
    upstream.respondWith({ type: 'answer', deltas: ['Welcome.'] });
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
    upstream.respondWith({ type: 'answer', deltas: ['One ', 'two ', 'three.'], delayMs: 50 });
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

  test('a message that is refused comes back, and a page that reaches nobody says so', async () => {
    upstream.respondWith({ type: 'answer', deltas: ['Yes.'] });
    const settings = { provider_metadata: { chats_per_minute: 1 } };
    const { page, smithId, input, send, rest, status, texts, leave } = await visit(settings);
    await send('First?');
    await rest();
    await send('Second?');
    await page.getByText('That was a lot at once.').waitFor();
    assert.deepEqual([await input.inputValue(), await texts()], ['Second?', ['First?', 'Yes.']]);
    assert.equal((await project.delete(`/v1/smiths/${smithId}`)).status, 204);
    await page.reload();
    assert.equal(await status.innerText(), 'This page is out of service.');
    assert.deepEqual([await input.isDisabled(), await texts()], [true, ['First?', 'Yes.']]);
    await leave();
  });
});
