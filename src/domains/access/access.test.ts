import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startDomains } from '../../../test/support/domains.ts';

const service = await startDomains();
after(() => service.close());

test('a route that is not there has the envelope and says where the routes are', async () => {
  const answer = await service.anybody.get('/nothing');
  assert.equal(answer.status, 404);
  assert.deepEqual(Object.keys(answer.body), ['error', 'details']);
  assert.equal(answer.body.error, 'not_found');
  assert.match(answer.body.details.message, /\/api\/v1\/openapi\.json/);
});

test('the document names its server with the base path', async () => {
  const { body } = await service.anybody.get('/openapi.json');
  assert.equal(body.openapi, '3.1.0');
  assert.deepEqual(body.servers, [{ url: 'http://127.0.0.1:8788/api/v1' }]);
});
