/** The document of a hosted page: what it holds, and what it may do. What it does in a browser is another test's. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { Script } from 'node:vm';
import { createClient, startPlatform } from '../../../../test/support/platform.ts';
import { mintId } from '../../../kernel/ids/ids.ts';

const platform = await startPlatform();
after(() => platform.close());
const visitor = createClient(platform.url, '');

async function openPage(provider_metadata: object = {}) {
  const project = await platform.createProject();
  const target = { type: 'smith', id: await project.createSmith() };
  const made = await project.post('/v1/deployments', { target, kind: 'web', provider_metadata });
  assert.equal(made.status, 201, made.text);
  const { page_url } = made.body;
  return visitor.get(new URL(page_url).pathname);
}

const inline = (page: string, tag: string) =>
  [...page.matchAll(new RegExp(`<${tag}>(.*?)</${tag}>`, 'gs'))].map((found) => found[1] ?? '');
const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

test('a page runs its own scripts alone, loads nothing and is framed by nobody', async () => {
  const { status, headers, text } = await openPage();
  assert.equal(status, 200, text.slice(0, 300));
  assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
  const policy = headers.get('content-security-policy') ?? '';
  const directives = Object.fromEntries(
    policy.split('; ').map((each) => [each.split(' ')[0], each.split(' ').slice(1)]),
  );
  const scripts = inline(text, 'script');
  assert.equal(scripts.length, 3);
  assert.deepEqual(directives['script-src'], scripts.map(hashOf));
  assert.deepEqual(directives['style-src'], inline(text, 'style').map(hashOf));
  assert.deepEqual([directives['default-src'], directives['frame-ancestors']], [["'none'"], ["'none'"]]);
  assert.deepEqual(directives['connect-src'], ["'self'"]);
  assert.doesNotMatch(text.replaceAll(/<script>.*?<\/script>/gs, ''), /(?:src|href)=/);
});

test('its scripts can be read, and the libraries are there', async () => {
  const [marked = '', purify = '', page = ''] = inline((await openPage()).text, 'script');
  for (const script of [marked, purify, page]) assert.ok(new Script(script));
  assert.doesNotMatch(page, /^\s*(?:import|export)\b/m);
  const { marked: library } = await import('marked');
  const world: { marked?: { parse(text: string): string } } = {};
  new Script(`(function (globalThis, self) { ${marked} }).call(this, this, this)`).runInNewContext(world);
  assert.equal(world.marked?.parse('**bold**'), library.parse('**bold**'));
});

test('what the tenant wrote is text', async () => {
  const { text } = await openPage({ title: '<script>alert(1)</script>', greeting: '"><img onerror=x src=y>' });
  assert.doesNotMatch(text, /<script>alert|<img onerror/);
  assert.match(text, /&#60;script&#62;alert\(1\)&#60;\/script&#62;/);
});

test('a page that is not there says so as a page', async () => {
  const missing = await visitor.get(`/hosted/${mintId('dep')}`);
  assert.deepEqual([missing.status, missing.headers.get('content-type')], [404, 'text/html; charset=utf-8']);
});
