/** The consent page of one server in one Chromium: what the tests of the gate and those of the soak visit. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, Page } from 'playwright-core';
import { startChromium } from './browser.ts';
import { publishMcp } from './mcp-deployment.ts';
import { newPkce, register } from './oauth.ts';
import { PHONE } from './page-visitor.ts';
import { startPlatform, type TestPlatform } from './platform.ts';

const DESKTOP = { width: 1280, height: 800 };

/** Declares the hooks that open it, in the suite that is being declared. */
export function openConsentPages() {
  let platform: TestPlatform;
  let smithToken: string;
  let resource: string;
  let browser: Browser;
  /** The client: where people are sent back to, on a port that it never registered. */
  let client: Server;
  let callback: string;
  /** What it shows; set by a test that plays another site. */
  let shown = '<!doctype html><title>Back</title>';

  before(async () => {
    client = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end(shown);
    }).listen(0, '127.0.0.1');
    await once(client, 'listening');
    callback = `http://localhost:${(client.address() as AddressInfo).port}/callback`;
    [platform, browser] = await Promise.all([startPlatform({ publicUrl: 'own' }), startChromium()]);
    const project = await platform.createProject();
    const smithId = await project.createSmith();
    smithToken = await project.smithToken(smithId, ['runs:write']);
    resource = platform.url + (await publishMcp(project, { type: 'smith', id: smithId })).path;
  });
  after(async () => {
    await browser?.close();
    client.closeAllConnections();
    client.close();
    await platform?.close();
  });

  async function visit(name = 'Calendar', javaScriptEnabled = false) {
    const { body } = await register(platform.url, { client_name: name, redirect_uris: ['http://localhost/callback'] });
    const { verifier, challenge } = newPkce();
    const query = new URLSearchParams({
      ...{ response_type: 'code', client_id: body.client_id, redirect_uri: callback, resource, state: 'state' },
      ...{ code_challenge: challenge, code_challenge_method: 'S256' },
    });
    const context = await browser.newContext({ viewport: PHONE, javaScriptEnabled });
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    const answer = await page.goto(`${platform.url}/oauth/authorize?${query}`);
    return { page, verifier, clientId: body.client_id as string, answer, leave: () => context.close() };
  }

  async function cameBack(page: Page): Promise<URLSearchParams> {
    await page.waitForURL((url) => url.href.startsWith(callback));
    return new URL(page.url()).searchParams;
  }

  return {
    visit,
    cameBack,
    get platform() {
      return platform;
    },
    get browser() {
      return browser;
    },
    get smithToken() {
      return smithToken;
    },
    get resource() {
      return resource;
    },
    get callback() {
      return callback;
    },
    /** The client's pages show this from here on. */
    show(html: string) {
      shown = html;
    },
    testLooks(screen: 'phone' | 'desktop', colorScheme: 'light' | 'dark') {
      test(`it fits a ${colorScheme} ${screen}, and axe finds nothing`, async () => {
        const { page, leave } = await visit('Calendar', true);
        const viewport = screen === 'phone' ? PHONE : DESKTOP;
        await page.setViewportSize(viewport);
        await page.emulateMedia({ colorScheme });
        const { violations } = await new AxeBuilder({ page }).analyze();
        assert.deepEqual(
          violations.map(({ id }) => id),
          [],
        );
        const width = (await page.evaluate('document.documentElement.scrollWidth')) as number;
        assert.ok(width <= viewport.width, `${width} px on a screen of ${viewport.width}`);
        await leave();
      });
    },
  };
}
