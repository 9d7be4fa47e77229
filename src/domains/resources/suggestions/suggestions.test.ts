import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startDomains, type TestDomains } from '../../../../test/support/domains.ts';
import { soldTlds } from '../../../../test/support/prices.ts';
import { suggestNames } from './suggest-names.ts';

let service: TestDomains;
before(async () => {
  service = await startDomains();
});
after(() => service.close());

test('names come without a token, ten unless a limit is given', async () => {
  const { status, body, headers } = await service.anybody.get('/suggest?q=coffee%20shop');
  assert.equal(status, 200);
  assert.equal(headers.get('cache-control'), 'private, no-store');
  assert.deepEqual(body, { query: 'coffee shop', suggestions: suggestNames('coffee shop', 10, soldTlds) });
  assert.equal(body.suggestions.length, 10);
  const { body: more } = await service.anybody.get('/suggest?q=coffee%20shop&limit=50');
  assert.equal(more.suggestions.length, 50);
  assert.deepEqual(more.suggestions.slice(0, 10), body.suggestions);
});

test('text without letters, and limits out of range, are bad requests', async () => {
  const cases: [string, string][] = [
    ['', 'q'],
    ['q=', 'q'],
    ['q=%21%3F', 'q'],
    [`q=${'a'.repeat(201)}`, 'q'],
    ['q=tea&limit=0', 'limit'],
    ['q=tea&limit=51', 'limit'],
    ['q=tea&limit=many', 'limit'],
  ];
  for (const [query, param] of cases) {
    const { status, body } = await service.anybody.get(`/suggest?${query}`);
    assert.deepEqual([status, body.error, body.details.param], [400, 'bad_request', param], query);
  }
});
