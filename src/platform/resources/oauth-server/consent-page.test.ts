/** The consent page in a browser: for people with and without scripts and screens, with clients that mean ill, and from other sites. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NEEDS_CHROMIUM } from '../../../../test/support/browser.ts';
import { openConsentPages } from '../../../../test/support/consent-pages.ts';
import { newPkce, openAuthorize, redeem, requestIn } from '../../../../test/support/oauth.ts';

describe('the consent page in Chromium', { skip: NEEDS_CHROMIUM }, () => {
  const pages = openConsentPages();
  const { visit, cameBack } = pages;

  test('without scripts a person approves, and the browser goes back with a code', async () => {
    const { page, verifier, clientId, leave } = await visit();
    await page.getByLabel('Your token').fill(`  ${pages.smithToken} `);
    await page.getByRole('button', { name: 'Approve' }).click();
    const found = await cameBack(page);
    assert.deepEqual([found.get('state'), found.get('iss')], ['state', pages.platform.url]);
    const consented = { clientId, verifier, code: found.get('code') ?? '' };
    const answer = await redeem(pages.platform.url, consented, { redirect_uri: pages.callback });
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
    const secret = pages.smithToken.replace('thp_live_', 'thp_live_x');
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
    await page.getByLabel('Your token').fill(pages.smithToken);
    await page.getByRole('button', { name: 'Approve' }).click();
    assert.ok((await cameBack(page)).get('code'));
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
    assert.match(policy, new RegExp(`form-action 'self' ${new URL(pages.callback).origin}; frame-ancestors 'none'`));
    assert.match(await page.locator('dl').innerText(), /a name that it gave itself[\s\S]*localhost:\d+/);
    await leave();
  });

  test('another site can neither frame the page nor send its form', async () => {
    const { clientId, leave } = await visit();
    const parameters = {
      client_id: clientId,
      redirect_uri: pages.callback,
      resource: pages.resource,
      code_challenge: newPkce().challenge,
    };
    const request = requestIn(await openAuthorize(pages.platform.url, parameters));
    const fields = Object.entries({ request, token: pages.smithToken, decision: 'approve' });
    const inputs = fields.map(([name, value]) => `<input name="${name}" value="${value}">`).join('');
    pages.show(
      `<!doctype html><title>Elsewhere</title><iframe src="${pages.platform.url}/oauth/authorize?${new URLSearchParams({
        ...parameters,
        response_type: 'code',
        code_challenge_method: 'S256',
      })}"></iframe><form method="post" action="${pages.platform.url}/oauth/authorize">${inputs}<button>Win</button></form>`,
    );
    const context = await pages.browser.newContext();
    const page = await context.newPage();
    await page.goto(pages.callback.replace('/callback', '/elsewhere'));
    assert.equal(await page.frameLocator('iframe').getByRole('button', { name: 'Approve' }).count(), 0);
    await page.getByRole('button', { name: 'Win' }).click();
    await page.getByText('sent from another site').waitFor();
    const { rows } = await pages.platform.db.query({
      text: 'select status from oauth_requests where id = $1',
      values: [request],
    });
    assert.deepEqual(rows, [{ status: 'pending' }]);
    await context.close();
    await leave();
  });

  pages.testLooks('phone', 'dark');
});
