/** Hosted pages of one project in one Chromium: what the tests of the gate and those of the soak visit. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, Page } from 'playwright-core';
import { type OpenAiUpstream, startOpenAiUpstream } from '../fakes/openai-upstream.ts';
import { startChromium } from './browser.ts';
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts';
import { RICH } from './markdown-answers.ts';
import { PHONE, visitPage } from './page-visitor.ts';
import { startPlatform, type TestPlatform, type TestProject } from './platform.ts';
import { useUpstream } from './turns.ts';

const DESKTOP = { width: 1280, height: 800 };

const TITLES = {
  ltr: ['Help with refunds', 'How can I help you?'],
  rtl: ['עזרה בהחזרים', 'במה אפשר לעזור?'],
} as const;

interface Looks {
  readonly direction: keyof typeof TITLES;
  readonly screen: 'phone' | 'desktop';
  readonly colorScheme: 'light' | 'dark';
}

/** Declares the hooks that open them, in the suite that is being declared. */
export function openHostedPages() {
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

  return {
    visit,
    get project() {
      return project;
    },
    get upstream() {
      return upstream;
    },
    get proxy() {
      return proxy;
    },
    testLooks({ direction, screen, colorScheme }: Looks) {
      test(`${direction} fits a ${colorScheme} ${screen}, and axe finds nothing`, async () => {
        upstream.respondWith({ type: 'answer', deltas: [RICH] });
        const [title, greeting] = TITLES[direction];
        const { page, send, rest, answer, leave } = await visit({ provider_metadata: { title, greeting } });
        const viewport = screen === 'phone' ? PHONE : DESKTOP;
        await page.setViewportSize(viewport);
        await page.emulateMedia({ colorScheme });
        await send('Where is my money? '.repeat(8));
        await rest();
        assert.equal(await page.locator('html').getAttribute('dir'), direction);
        assert.deepEqual(
          await answer.locator(':is(h1,h2,h3,h4)').evaluateAll((all) => all.map(({ tagName }) => tagName)),
          ['H2', 'H3'],
        );
        assert.deepEqual(await answer.getByRole('link').allInnerTexts(), [
          'the handbook',
          'a picture of it',
          'picture',
        ]);
        await assertAccessible(page, `${direction}, ${screen}, ${colorScheme}`);
        const measures = `(({ left, right }) => [document.documentElement.scrollWidth, left, innerWidth - right])(
          document.querySelector('.user').getBoundingClientRect())`;
        const [width, before, behind] = (await page.evaluate(measures)) as [number, number, number];
        assert.ok(width <= viewport.width, `${width} px on a screen of ${viewport.width}`);
        assert.equal(before > behind, direction === 'ltr', 'one’s own words stand at the end of the line');
        await leave();
      });
    },
  };
}

export async function assertAccessible(page: Page, where: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join('\n')}`);
  assert.deepEqual(found, [], where);
}
