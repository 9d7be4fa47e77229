/** Somebody who opens a hosted page in a browser, and what must never happen to them there. */
import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import type { TestProject } from './platform.ts';
import { FAKE_MODEL } from './turns.ts';

export const PHONE = { width: 320, height: 640 };

interface Visit {
  readonly project: TestProject;
  /** Of the server, or of what stands before it. */
  readonly url: string;
  /** Of the deployment. */
  readonly settings: Record<string, unknown>;
}

/** On the page of a smith of its own, in a browser that nobody has used, on a phone. */
export async function visitPage(browser: Browser, { project, url, settings }: Visit) {
  const smithId = await project.createSmith({ model: FAKE_MODEL });
  const target = { type: 'smith', id: smithId };
  const made = await project.post('/v1/deployments', { target, kind: 'web', ...settings });
  assert.equal(made.status, 201, made.text);
  const { pathname } = new URL(made.body.page_url);
  const context = await browser.newContext({ viewport: PHONE, colorScheme: 'light' });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const amiss = watch(page, url, pathname);
  await page.goto(url + pathname);
  const input = page.getByLabel('Message');
  return {
    page,
    smithId,
    input,
    /** The last one. */
    answer: page.locator('.message.assistant').last(),
    status: page.getByRole('status'),
    async send(text: string) {
      await input.fill(text);
      await input.press('Enter');
    },
    /** Until the answer is whole. */
    rest: () => page.getByRole('button', { name: 'Send' }).waitFor(),
    texts: () => page.locator('.message').allInnerTexts(),
    runs: async () => (await project.get(`/v1/smiths/${smithId}/runs`)).body.data,
    /** Fails where anything has run, been asked for, or been refused by the page's policy that should not have been tried. */
    async leave() {
      assert.equal(await page.evaluate('typeof ran'), 'undefined', 'a script of an answer has run');
      await context.close();
      assert.deepEqual(amiss, []);
    },
  };
}

function watch(page: Page, origin: string, pathname: string): string[] {
  const amiss: string[] = [];
  const own = [pathname, `/v1${pathname}/chat`, `/v1${pathname}/stop`].map((path) => origin + path);
  page.on('dialog', (dialog) => {
    amiss.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('pageerror', (error) => amiss.push(`error: ${error.stack}`));
  page.on('popup', (popup) => amiss.push(`popup: ${popup.url()}`));
  page.on('request', (request) => {
    if (!own.includes(request.url())) amiss.push(`request: ${request.url()}`);
  });
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) amiss.push(message.text());
  });
  return amiss;
}
