/** The consent page in a browser: for people with and without scripts and screens, with clients that mean ill, and from other sites. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, Page } from 'playwright-core';
import { NEEDS_CHROMIUM, startChromium } from '../../../../test/support/browser.ts';
import { publishMcp } from '../../../../test/support/mcp-deployment.ts';
import { newPkce, openAuthorize, redeem, register, requestIn } from '../../../../test/support/oauth.ts';
import { PHONE } from '../../../../test/support/page-visitor.ts';
import { startPlatform, type TestPlatform, type TestProject } from '../../../../test/support/platform.ts';

const DESKTOP = { width: 1280, height: 800 };

describe('the consent page in Chromium', { skip: NEEDS_CHROMIUM }, () => {
  let platform: TestPlatform;
  let project: TestProject;
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
    project = await platform.createProject();
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

  test('without scripts a person approves, and the browser goes back with a code', async () => {
    const { page, verifier, clientId, leave } = await visit();
    await page.getByLabel('Your token').fill(`  ${smithToken} `);
    await page.getByRole('button', { name: 'Approve' }).click();
    const found = await cameBack(page);
    assert.deepEqual([found.get('state'), found.get('iss')], ['state', platform.url]);
    const consented = { clientId, verifier, code: found.get('code') ?? '' };
    const answer = await redeem(platform.url, consented, { redirect_uri: callback });
    assert.equal(answer.status, 200, answer.text);
    await leave();
  });

  test('a person declines without a token', async () => {
    const { page, leave } = await visit();
    await page.getByRole('button', { name: 'Decline' }).click();
    assert.equal((await cameBack(page)).get('error'), 'access_denied');
    await leave();
  });

  test('what was wrong is said, the token is not there any more, and the rest is', async () => {
    const { page, leave } = await visit();
    const secret = smithToken.replace('thp_live_', 'thp_live_x');
    await page.getByLabel('Your token').fill(secret);
    await page.getByLabel('Smith', { exact: false }).last().fill('"><b>smt');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('alert').waitFor();
    assert.match(await page.getByRole('alert').innerText(), /token/);
    assert.ok(!(await page.content()).includes(secret));
    assert.ok(!page.url().includes(secret));
    assert.equal(await page.getByLabel('Your token').inputValue(), '');
    assert.equal(await page.locator('#smith_id').inputValue(), '"><b>smt');
    await page.locator('#smith_id').fill('');
    await page.getByLabel('Your token').fill(smithToken);
    await page.getByRole('button', { name: 'Approve' }).click();
    assert.ok((await cameBack(page)).get('code'));
    await leave();
  });

  test('axe finds nothing, and it fits phones and desktops, light and dark', async () => {
    const { page, leave } = await visit('Calendar', true);
    for (const [viewport, colorScheme] of [
      [PHONE, 'light'],
      [PHONE, 'dark'],
      [DESKTOP, 'light'],
      [DESKTOP, 'dark'],
    ] as const) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      const { violations } = await new AxeBuilder({ page }).analyze();
      assert.deepEqual(
        violations.map(({ id }) => id),
        [],
        `${viewport.width} px, ${colorScheme}`,
      );
      const width = (await page.evaluate('document.documentElement.scrollWidth')) as number;
      assert.ok(width <= viewport.width, `${width} px on a screen of ${viewport.width}`);
    }
    await leave();
  });

  test('a client’s name does nothing and turns nothing round', async () => {
    const { page, answer, leave } = await visit('<script>document.title="ran"</script>\u202Egoogle ‮elgoog', true);
    assert.equal(await page.title(), 'Let a program connect');
    assert.match(
      await page.getByRole('heading').innerText(),
      /^<script>document\.title="ran"<\/script>google elgoog wants to connect$/,
    );
    assert.equal(await page.locator('script').count(), 0);
    const policy = answer?.headers()['content-security-policy'] ?? '';
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, new RegExp(`form-action 'self' ${new URL(callback).origin}; frame-ancestors 'none'`));
    assert.match(await page.locator('dl').innerText(), /a name that it gave itself[\s\S]*localhost:\d+/);
    await leave();
  });

  test('another site can neither frame the page nor send its form', async () => {
    const { clientId, leave } = await visit();
    const parameters = { client_id: clientId, redirect_uri: callback, resource, code_challenge: newPkce().challenge };
    const request = requestIn(await openAuthorize(platform.url, parameters));
    const fields = Object.entries({ request, token: smithToken, decision: 'approve' });
    const inputs = fields.map(([name, value]) => `<input name="${name}" value="${value}">`).join('');
    shown = `<!doctype html><title>Elsewhere</title><iframe src="${platform.url}/oauth/authorize?${new URLSearchParams({
      ...parameters,
      response_type: 'code',
      code_challenge_method: 'S256',
    })}"></iframe><form method="post" action="${platform.url}/oauth/authorize">${inputs}<button>Win</button></form>`;
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(callback.replace('/callback', '/elsewhere'));
    assert.equal(await page.frameLocator('iframe').getByRole('button', { name: 'Approve' }).count(), 0);
    await page.getByRole('button', { name: 'Win' }).click();
    await page.getByText('sent from another site').waitFor();
    const { rows } = await platform.db.query({
      text: 'select status from oauth_requests where id = $1',
      values: [request],
    });
    assert.deepEqual(rows, [{ status: 'pending' }]);
    await context.close();
    await leave();
  });
});
